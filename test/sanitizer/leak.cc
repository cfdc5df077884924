// Sanitizer: address
// Report: LeakSanitizer: detected memory leaks
//
// Planted: forgets the only pointer to an allocation.
#include <memory>

int main() {
  auto value = std::make_unique<int[]>(64);
  static_cast<void>(value.release());
  return 0;
}
