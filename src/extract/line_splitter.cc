#include "extract/line_splitter.h"

#include <algorithm>

#include "base/check.h"

namespace runnel::extract {
namespace {

constexpr char kEscape = '\x1b';

// The text behind a command to the terminal: ESC [ parameters letter, or ESC and one character.
std::string_view after_command(std::string_view text) {
  CHECK(text.starts_with(kEscape), "a command to the terminal begins with ESC");
  text.remove_prefix(1);
  if (!text.starts_with('[')) return text.substr(std::min<std::size_t>(1, text.size()));
  const auto last =
      std::find_if(text.begin() + 1, text.end(), [](char c) { return c >= '@' && c <= '~'; });
  return last == text.end() ? std::string_view()
                            : text.substr(static_cast<std::size_t>(last - text.begin()) + 1);
}

void strip_commands(std::string& line) {
  std::string plain;
  std::string_view rest = line;
  while (!rest.empty()) {
    const std::size_t escape = std::min(rest.find(kEscape), rest.size());
    plain.append(rest.substr(0, escape));
    rest.remove_prefix(escape);
    if (!rest.empty()) rest = after_command(rest);
  }
  line = std::move(plain);
}

}  // namespace

void LineSplitter::add(std::string_view bytes, const Use& use) {
  while (!bytes.empty()) {
    std::size_t end = std::min(bytes.find('\n'), bytes.size());
    end = std::min(bytes.substr(0, end).find('\r'), end);
    keep(bytes.substr(0, end));
    if (end == bytes.size()) return;
    finish_line(use);
    bytes.remove_prefix(end + 1);
  }
}

void LineSplitter::end(const Use& use) { finish_line(use); }

void LineSplitter::skip_line() {
  line_.clear();
  skipping_ = true;
}

void LineSplitter::keep(std::string_view part) {
  if (skipping_) return;
  CHECK(line_.size() <= kLineBytesMax, "a line is longer than its most");
  line_.append(part.substr(0, kLineBytesMax - line_.size()));
}

void LineSplitter::finish_line(const Use& use) {
  if (line_.find(kEscape) != std::string::npos) strip_commands(line_);
  const bool blank = line_.find_first_not_of(" \t") == std::string::npos;
  if (!blank && !skipping_) use(line_);
  skipping_ = false;
  line_.clear();
}

}  // namespace runnel::extract
