// Sanitizer: address
// Report: heap-use-after-free
//
// Planted: reads through a pointer whose owner is gone.
#include <memory>

int main() {
  auto value = std::make_unique<int>(7);
  const int* borrowed = value.get();
  value.reset();
  return *borrowed;
}
