#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace runnel::cli {

// A task by one word: "1m7z/train/3", or its second attempt, "1m7z/train/3#2".
struct TaskName {
  std::string job;
  std::string step;
  std::int64_t task = 0;
  std::optional<std::int64_t> attempt;
  friend bool operator==(const TaskName&, const TaskName&) = default;
};

// Nothing for what is no such name.
std::optional<TaskName> parse_task_name(std::string_view text);

}  // namespace runnel::cli
