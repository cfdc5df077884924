// Sanitizer: undefined
// Report: runtime error: signed integer overflow
//
// Planted: adds past the largest int.
#include <limits>

int main(int argc, char**) { return std::numeric_limits<int>::max() + argc > 0 ? 1 : 2; }
