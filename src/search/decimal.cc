#include "search/decimal.h"

#include <array>

namespace runnel::search {

std::string shortest(double value) {
  std::array<char, 32> buffer{};
  const auto [end, problem] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  CHECK(problem == std::errc(), "the shortest text of a double has at most 24 characters");
  return {buffer.data(), end};
}

double rounded_to_digits(double value) {
  std::array<char, 32> buffer{};
  const auto [end, problem] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                            std::chars_format::general, 15);
  CHECK(problem == std::errc(), "15 digits of a double have at most 22 characters");
  return number_of<double>({buffer.data(), static_cast<std::size_t>(end - buffer.data())});
}

}  // namespace runnel::search
