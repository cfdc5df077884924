#pragma once

#include <string>

#include "cli/session.h"
#include "json/value.h"

namespace runnel::cli {

// A trial that was PRUNED while its last value is better than that of the best whole trial: the
// best of these, or null. `search` is that of the step's document, `trials` are rows of its trials.
// A pruned trial's value does not count, since nobody knows what it had come to at its end.
const json::Value* better_pruned(const json::Value& search, const json::Value::List& trials);

// "trial 2 was PRUNED with acc=0.9 at step 8, better than ..."; with the remedy where the pruner
// does not know the last step of a trial. `trial`: its document, with reports. `spec`: of the step.
std::string better_pruned_line(const json::Value& trial, const json::Value& spec);

// The line about one search of a job, or nothing. `job`: with its specification.
std::string better_pruned_note(Session& session, const json::Value& job, const std::string& step,
                               const json::Value::List& trials);
// The same with all that it takes asked of the daemon; nothing where no trial was pruned.
std::string better_pruned_note(Session& session, const std::string& job, const json::Value& step);

}  // namespace runnel::cli
