#include "sim/kept_fold.h"

#include <utility>
#include <vector>

#include "base/check.h"

namespace runnel::sim {

Result<control::Recovered> KeptFold::operator()(store::EventLog& log, brain::Limits limits) {
  constexpr std::int64_t kByTextPerMille = 250;
  const bool by_text = dice_.chance(kByTextPerMille);
  control::Recovered recovered = by_text ? TRY(control::recover(log, limits)) : go_on(log, limits);
  state_ = recovered.brain.state();
  batches_ = disk_.batches().size();
  return recovered;
}

control::Recovered KeptFold::go_on(const store::EventLog& log, brain::Limits limits) const {
  control::JobVersions versions(state_);
  control::Recovered recovered{brain::Brain(state_, limits), std::move(versions), log.head(), 0};
  std::int64_t seq = state_.last_event.value();
  const auto first = disk_.events().begin();
  for (std::size_t at = batches_; at < disk_.batches().size(); ++at) {
    const auto& [now, events_end] = disk_.batches()[at];
    const std::vector<model::Event> events(first + seq,
                                           first + static_cast<std::ptrdiff_t>(events_end));
    recovered.brain.replay(events, now);
    for (const model::Event& event : events) {
      recovered.versions.follow(recovered.brain.state(), event, EventSeq(++seq));
    }
  }
  CHECK(seq + 1 == log.head().next_event.value(), "the disk knows other events than its log");
  recovered.events_since_snapshot = seq - state_.last_event.value();
  return recovered;
}

}  // namespace runnel::sim
