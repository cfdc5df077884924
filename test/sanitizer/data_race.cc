// Sanitizer: thread
// Report: ThreadSanitizer: data race
//
// Planted: two threads count in the same int without a lock.
#include <thread>

namespace {

int counter = 0;

void count() {
  for (int i = 0; i < 1000; ++i) ++counter;
}

}  // namespace

int main() {
  std::thread first(count);
  std::thread second(count);
  first.join();
  second.join();
  return counter == 0 ? 1 : 0;
}
