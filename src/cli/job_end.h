#pragma once

#include <cstdint>
#include <string>

#include "cli/session.h"
#include "home/home.h"
#include "json/value.h"

namespace runnel::cli {

enum class EndStyle : std::uint8_t {
  kShort,       // How it ended and after how long: of a single command.
  kWhole,       // And the best trial, where its outputs are, what it cost.
  kWithOutput,  // And, of a failure, the last lines of the task, which nobody has seen yet.
};

// Says on stderr how a job that has ended did so: "job ID: SUCCEEDED in 2 min 31 s", what came of
// it, and of a failure the cause and where to read more.
void say_end(Session& session, const json::Value& job, EndStyle style);

// Whether the folder is there, if its disk says so within a second: a task may have mounted one.
bool is_there_soon(const std::string& folder);

// The folder that all tasks of the job share, when something was left in it; else "".
std::string shared_outputs(const home::Home& home, const std::string& job);

}  // namespace runnel::cli
