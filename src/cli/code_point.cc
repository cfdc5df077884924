#include "cli/code_point.h"

#include <utf8proc.h>

#include "base/check.h"

namespace runnel::cli {

CodePoint first_code_point(std::string_view text) {
  CHECK(!text.empty(), "an empty text begins with nothing");
  utf8proc_int32_t value = -1;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data());
  const utf8proc_ssize_t length =
      utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size()), &value);
  if (length <= 0) return {static_cast<unsigned char>(text.front()), 1, false};
  return {static_cast<char32_t>(value), static_cast<std::size_t>(length), true};
}

std::size_t columns_of(const CodePoint& point) {
  const auto value = static_cast<utf8proc_int32_t>(point.value);
  if (!point.valid || utf8proc_category(value) == UTF8PROC_CATEGORY_CC) return 1;
  return static_cast<std::size_t>(utf8proc_charwidth(value));
}

}  // namespace runnel::cli
