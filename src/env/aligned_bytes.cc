#include "env/aligned_bytes.h"

#include <new>

namespace runnel::env {

AlignedBytes::AlignedBytes(std::size_t size)
    : size_(size),
      bytes_(static_cast<char*>(::operator new(rounded(size), std::align_val_t(kAlign)))) {}

AlignedBytes::~AlignedBytes() { ::operator delete(bytes_, std::align_val_t(kAlign)); }

}  // namespace runnel::env
