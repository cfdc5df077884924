// Sanitizer: thread
// Report: lock-order-inversion
//
// Planted: takes two locks in both orders.
#include <mutex>
#include <thread>

namespace {

std::mutex left;
std::mutex right;

void lock_both(std::mutex& first, std::mutex& second) {
  const std::lock_guard outer(first);
  const std::lock_guard inner(second);
}

}  // namespace

int main() {
  std::thread([] { lock_both(left, right); }).join();
  std::thread([] { lock_both(right, left); }).join();
  return 0;
}
