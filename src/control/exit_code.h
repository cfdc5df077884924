#pragma once

#include <cstdint>
#include <optional>

#include "brain/state.h"

namespace runnel::control {

inline constexpr std::int32_t kExitFailure = 1;
inline constexpr std::int32_t kExitTimeLimit = 124;

// What a task's end means as a shell would say it: 0 only for success, 124 for the time limit, else
// the code of its first failing rank (128+n for signal n), or 1 when it has none.
std::int32_t exit_code_of(model::Status status, std::int32_t code);

// The exit code of attached `run` and of `wait`; nothing while the job is unfinished. A job of one
// task passes that task's on; any other exits with 1 unless all of it succeeded.
std::optional<std::int32_t> exit_code_of(const brain::Job& job);

}  // namespace runnel::control
