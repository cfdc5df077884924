#pragma once

#include <string_view>

#include "base/result.h"
#include "model/input.h"
#include "model/search_spec.h"

namespace runnel::control {

// What the body of a call about a trial says; job, step and trial stand in its path. Each answers
// kInvalid naming the field.
//
// ask:    {"lease": "60s", "actor"}, or nothing at all.
// report: {"attempt", "step": of the training, values}
// tell:   {"attempt", "state": complete | pruned | failed, "message", values}
// Values are one of {"value": 0.5}, {"values": [0.5]} in the order of the search's objectives, and
// {"metrics": {"loss": 0.5}}, where others than the search's are passed over. Without "attempt" the
// call is about the trial's last one (AttemptNumber(0) here).
Result<model::TrialCall> read_ask(std::string_view json_body);
Result<model::TrialCall> read_report(std::string_view json_body, const model::SearchSpec& search);
Result<model::TrialCall> read_tell(std::string_view json_body, const model::SearchSpec& search);

}  // namespace runnel::control
