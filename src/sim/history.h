#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/ids.h"
#include "brain/state.h"
#include "model/event.h"
#include "store/batch.h"

namespace runnel::sim {

// What clients saw, and nothing else: the material of the history check.
struct Seen {
  struct Answer {
    brain::KeyName key;  // The submission's.
    JobId job;           // What it was told.
  };
  std::vector<Answer> answers;
  struct Tell {
    model::AttemptRef attempt;
    model::TrialEnd end = model::TrialEnd::kComplete;
  };
  std::vector<Tell> tells;  // About trials run outside; those that were taken.
  // Event number -> the document that the watcher was shown.
  std::map<std::int64_t, std::string> watched;
  EventSeq through;  // So far it has looked.
};

// Checks the promises a client can hold the service to, from what it saw and the final log alone:
//  1. every answered job exists; one key, one job;
//  2. see check_shown();
//  3. every shown state change is allowed by the public state table, and end states are final
//  unless a
//     retry was asked for;
//  4. no task is shown to succeed twice, and no attempt to end twice;
//  5. what was told of a trial and taken is in the log, as the end of that attempt.
// Returns "" or the first broken promise. In the behaviour of Jepsen's checkers (Kingsbury).
std::string check_history(const Seen& seen, const std::vector<model::Event>& log);

// What a watcher was shown is in the log's text, unchanged and without gaps: nothing was told too
// early. "" or what is not.
std::string check_shown(const Seen& seen, const std::map<std::int64_t, store::Batch>& log);

}  // namespace runnel::sim
