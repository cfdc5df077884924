#include "search/random_stream.h"

#include <cmath>
#include <numbers>

#include "base/check.h"
#include "search/permutation.h"

namespace runnel::search {
namespace {

__extension__ using Product = unsigned __int128;

}  // namespace

std::uint64_t RandomStream::bits() { return derive(key_, drawn_++); }

double RandomStream::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

std::uint64_t RandomStream::below(std::uint64_t size) {
  CHECK(size > 0, "a draw from nothing");
  return static_cast<std::uint64_t>((Product{bits()} * size) >> 64);
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

}  // namespace runnel::search
