#pragma once

#include <string>

#include "cli/session.h"
#include "json/value.h"

namespace runnel::cli {

// What a pause throws away, of a job's document with its specification: "2 running tasks have no
// `checkpoint` and begin anew after resume: 1 of train, 1 of eval"; empty when that is nothing.
std::string lost_work(const json::Value& job);
// The same, asked of the daemon before the pause; empty when it does not tell.
std::string work_lost_by_pause(Session& session, const std::string& job);

}  // namespace runnel::cli
