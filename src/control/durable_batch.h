#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "model/event.h"
#include "store/event_log.h"

namespace runnel::control {

// One decision that the log keeps.
struct DurableBatch {
  BatchSeq seq;
  EventSeq first_event;
  Time now;
  std::vector<model::Event> events;
  std::string json;               // The canonical documents of the events, one after another.
  std::vector<std::size_t> ends;  // Where each of them ends in `json`.
};

// The events as the log has them: the canonical list.
std::string list_text(const DurableBatch& batch);

// Whether the log holds all of these, which follow one another and were decided in `epoch`: by what
// they say, since the number of a batch that was not kept is given again.
Result<bool> are_in(store::EventLog& log, Epoch epoch, const std::vector<DurableBatch>& batches);

}  // namespace runnel::control
