#include "extract/log_extractor.h"

#include <utility>

#include "base/check.h"

namespace runnel::extract {

Result<Patterns> compile(const std::vector<model::LogPattern>& specs) {
  auto patterns = std::make_shared<std::vector<Pattern>>();
  for (const model::LogPattern& spec : specs) {
    Result<Pattern> pattern = Pattern::create(spec);
    if (!pattern.ok()) {
      return Error(pattern.error()).with_field("[" + std::to_string(patterns->size()) + "].regex");
    }
    patterns->push_back(*std::move(pattern));
  }
  return Patterns(std::move(patterns));
}

LogExtractor::LogExtractor(Patterns patterns) : patterns_(std::move(patterns)) {
  CHECK(patterns_ != nullptr, "metrics are looked for without patterns");
  looks_.resize(patterns_->size());
}

void LogExtractor::add(std::string_view bytes, std::vector<MetricSample>& samples) {
  lines_.add(bytes, [&](std::string_view line) { take_line(line, samples); });
}

void LogExtractor::end(std::vector<MetricSample>& samples) {
  lines_.end([&](std::string_view line) { take_line(line, samples); });
}

void LogExtractor::skip_line() {
  lines_.skip_line();
  for (Look& look : looks_) look.lines.clear();
}

// Steps first: whoever tells the step may stand behind whoever needs it.
void LogExtractor::take_line(std::string_view line, std::vector<MetricSample>& samples) {
  CHECK(!line.empty(), "a blank line is looked at");
  std::vector<std::pair<std::size_t, Pattern::Found>> all;
  for (std::size_t i = 0; i < patterns_->size(); ++i) {
    std::optional<Pattern::Found> found = find((*patterns_)[i], looks_[i], line);
    if (!found) continue;
    if (found->step) step_ = found->step;
    all.emplace_back(i, *std::move(found));
  }
  for (auto& [i, found] : all) {
    const std::int64_t count = looks_[i].matches++;
    if (found.values.empty()) continue;
    append_sample(samples, {found.step.value_or(step_.value_or(count)), std::move(found.values)});
  }
}

std::optional<Pattern::Found> LogExtractor::find(const Pattern& pattern, Look& look,
                                                 std::string_view line) {
  if (pattern.lines() == 1) return pattern.find(line);
  look.lines.emplace_back(line);
  if (look.lines.size() > pattern.lines()) look.lines.pop_front();
  CHECK(look.lines.size() <= pattern.lines(), "a pattern looks at more lines than it says");
  std::string text;
  for (const std::string& each : look.lines) text.append(text.empty() ? "" : "\n").append(each);
  std::optional<Pattern::Found> found = pattern.find(text);
  if (found) look.lines.clear();
  return found;
}

}  // namespace runnel::extract
