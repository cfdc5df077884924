#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/ids.h"
#include "brain/state.h"
#include "json/writer.h"

namespace runnel::control {

// The list of a study's trials `from` up to `end`, which is not among them: their parameters, what
// became of them, their values. Numbers are JSON numbers.
void write_trials(json::Writer& out, const brain::Job& job, StepIndex step, std::int64_t from,
                  std::int64_t end);
// One trial with all of its reports that the study keeps: those that a pruner judged, and the last.
std::string trial_document(const brain::Job& job, StepIndex step, TaskIndex trial);

// The answer to a call about a trial: the trial, without `best` where there are several objectives,
// and `stop` when the attempt spoken of is over.
// Without an attempt nobody got one: {"trial": null, "finished": none will come, "running",
// "waiting": for another attempt, or for `parallel`}.
std::string trial_answer(const brain::Job& job, StepIndex step,
                         const std::optional<model::AttemptRef>& attempt);

}  // namespace runnel::control
