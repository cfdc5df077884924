#include "object/stamp.h"

#include <algorithm>

namespace runnel::object {

bool is_stamp(std::string_view text) {
  const auto is_visible = [](char each) { return each > ' ' && each < '\x7F' && each != '"'; };
  return !text.empty() && std::all_of(text.begin(), text.end(), is_visible);
}

}  // namespace runnel::object
