#include "cli/task_name.h"

#include <charconv>

namespace runnel::cli {
namespace {

std::optional<std::int64_t> natural(std::string_view text) {
  std::int64_t value = 0;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const auto [stop, problem] = std::from_chars(begin, end, value);
  if (problem != std::errc() || stop != end || value < 0) return std::nullopt;
  return value;
}

}  // namespace

std::optional<TaskName> parse_task_name(std::string_view text) {
  const std::size_t first = text.find('/');
  const std::size_t last = text.rfind('/');
  if (first == std::string_view::npos || first == last) return std::nullopt;
  const std::size_t mark = text.find('#', last);
  const bool marked = mark != std::string_view::npos;
  const auto task = natural(text.substr(last + 1, marked ? mark - last - 1 : text.npos));
  TaskName name{std::string(text.substr(0, first)),
                std::string(text.substr(first + 1, last - first - 1))};
  if (!task || name.job.empty() || name.step.empty()) return std::nullopt;
  name.task = *task;
  if (!marked) return name;
  name.attempt = natural(text.substr(mark + 1));
  return name.attempt.value_or(0) > 0 ? std::optional(name) : std::nullopt;
}

}  // namespace runnel::cli
