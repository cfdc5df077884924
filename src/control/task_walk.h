#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/result.h"
#include "brain/state.h"

namespace runnel::control {

// Which tasks of a job are asked for.
struct TaskFilter {
  std::optional<StepIndex> step;
  std::optional<model::Status> status;
};

// A place in the list of a job's tasks: by step, then by index. As a page token "2.1500".
struct TaskPlace {
  StepIndex step;
  TaskIndex index;
  std::string token() const;
  static Result<TaskPlace> parse(std::string_view token);
  friend auto operator<=>(const TaskPlace&, const TaskPlace&) = default;
};

// Walks the tasks of a job in order, without ever listing those that are only ranges.
//
// Contract: next() yields each matching task from `from` on once, then nothing. A walk that looked
//           at kLookedAtMax kept tasks pauses: next() yields nothing, and place() says where to go
//           on.
// Threads:  none of its own. The job must not change during the walk.
// Why:      a page of a step with a million tasks costs as much as one of a step with fifty.
class TaskWalk {
 public:
  static constexpr std::int64_t kLookedAtMax = 100'000;

  TaskWalk(const brain::Job& job, TaskFilter filter, TaskPlace from);

  std::optional<TaskPlace> next();
  // Where the following page begins; nothing at the end.
  std::optional<TaskPlace> place() const;

 private:
  using KeptTask = std::map<TaskIndex, brain::Task>::const_iterator;

  std::optional<TaskIndex> next_in_step();
  std::optional<TaskIndex> next_plain(const brain::Step& step, model::Status status) const;
  KeptTask next_kept(const brain::Step& step, model::Status status);
  std::int64_t step_count() const;

  const brain::Job& job_;
  TaskFilter filter_;
  TaskPlace at_;
  std::int64_t looked_at_ = 0;
  bool paused_ = false;
};

// Where live tasks find what they hold: those that are open.
using Lanes = std::map<LaneId, brain::Lane>;

// One page: {"next_page_token"?, "tasks": [...]}.
std::string task_page(const brain::Job& job, const Lanes& lanes, const TaskFilter& filter,
                      const TaskPlace& from, std::int64_t limit);

// The document of one task as the state knows it.
std::string task_document(const brain::Job& job, const Lanes& lanes, const TaskPlace& place);

}  // namespace runnel::control
