#include "cli/facts_text.h"

#include <algorithm>

#include "cli/print.h"
#include "cli/printable.h"

namespace runnel::cli {

std::string facts_text(const Facts& facts) {
  std::size_t width = 0;
  for (const auto& [word, what] : facts) width = std::max(width, word.size());
  std::string text;
  for (const auto& [word, what] : facts) {
    text += word + std::string(width - word.size() + 2, ' ') + or_dash(printable(what)) + "\n";
  }
  return text;
}

}  // namespace runnel::cli
