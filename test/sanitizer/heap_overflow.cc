// Sanitizer: address
// Report: heap-buffer-overflow
//
// Planted: reads one element past the end of a heap array.
#include <memory>

int main(int argc, char**) {
  auto values = std::make_unique<int[]>(4);
  return values[static_cast<unsigned>(argc) + 3];
}
