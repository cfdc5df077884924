#include "model/template.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace runnel::model {
namespace {

constexpr std::array kTaskNames = {kJobIdName, kJobNameName, kTaskIndexName, kTaskCountName};

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::vector<TemplatePart> run() {
    for (std::size_t at = text_.find("{{"); at != std::string_view::npos;
         at = text_.find("{{", at)) {
      at = braces(at);
    }
    add_text(begin_, text_.size());
    return std::move(parts_);
  }

 private:
  void add_text(std::size_t begin, std::size_t end) {
    CHECK(begin <= end, "a part of a template ends before it begins");
    if (begin == end) return;
    parts_.push_back({TemplatePart::Kind::kText, text_.substr(begin, end - begin), begin});
  }

  // Handles the run of two or more opening braces at `at`; returns where to look on.
  std::size_t braces(std::size_t at) {
    const std::size_t end = std::min(text_.find_first_not_of('{', at), text_.size());
    const std::size_t escapes = (end - at) / 4;
    const std::size_t rest = (end - at) % 4;
    if (escapes > 0) {
      // Half of the escaped braces are shown: the first half joins the text before, the rest is
      // left out.
      add_text(begin_, at + 2 * escapes);
      begin_ = at + 4 * escapes;
    }
    return rest < 2 ? end : reference(end - 2);
  }

  std::size_t reference(std::size_t open) {
    add_text(begin_, open);
    const std::size_t close = std::min(text_.find("}}", open + 2), text_.find('\n', open + 2));
    if (close == std::string_view::npos || text_[close] == '\n') {
      parts_.push_back({TemplatePart::Kind::kOpen, text_.substr(open), open});
      begin_ = text_.size();
    } else {
      const std::string_view inside = text_.substr(open + 2, close - open - 2);
      parts_.push_back({TemplatePart::Kind::kName, trim(inside), open});
      begin_ = close + 2;
    }
    return begin_;
  }

  std::string_view text_;
  std::size_t begin_ = 0;  // Start of the text that is not in parts_ yet.
  std::vector<TemplatePart> parts_;
};

// The reference as it was written, braces included.
std::string_view as_written(std::string_view text, const TemplatePart& name) {
  const std::size_t close = text.find("}}", name.offset);
  CHECK(close != std::string_view::npos, "a named reference is closed");
  return text.substr(name.offset, close + 2 - name.offset);
}

}  // namespace

std::vector<TemplatePart> scan_template(std::string_view text) { return Scanner(text).run(); }

std::optional<BestName> parse_best(std::string_view name) {
  if (!name.starts_with(kBestPrefix)) return std::nullopt;
  name.remove_prefix(kBestPrefix.size());
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size()) return std::nullopt;
  return BestName{name.substr(0, dot), name.substr(dot + 1)};
}

bool is_task_name(std::string_view name) {
  return std::find(kTaskNames.begin(), kTaskNames.end(), name) != kTaskNames.end();
}

std::string fill_template(std::string_view text, const TemplateValues& value_of) {
  if (text.find("{{") == std::string_view::npos) return std::string(text);
  std::string out;
  for (const TemplatePart& part : scan_template(text)) {
    if (part.kind != TemplatePart::Kind::kName) {
      out += part.text;
    } else if (const std::optional<std::string> value = value_of(part.text)) {
      out += *value;
    } else {
      out += as_written(text, part);
    }
  }
  return out;
}

}  // namespace runnel::model
