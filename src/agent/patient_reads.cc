#include "agent/patient_reads.h"

#include <algorithm>
#include <utility>

#include "async/stop_token.h"
#include "base/check.h"

namespace runnel::agent {
void PatientReads::look() {
  for (auto& [folder, reading] : readings_) {
    const std::int64_t computed = reading->call->processor_nanos();
    if (computed != reading->computed) reading->moved_at = clock_.boot();
    reading->computed = computed;
  }
}

bool PatientReads::may_begin(const std::string& folder, const std::string& group) const {
  if (readings_.contains(folder) || readings_.size() >= at_once_max()) return false;
  if (turns_ == Turns::kPerFolder) {
    const auto of_group = std::count_if(readings_.begin(), readings_.end(), [&](const auto& entry) {
      return !group.empty() && entry.second->group == group;
    });
    return static_cast<std::size_t>(of_group) < kGroupMax;
  }
  return std::all_of(readings_.begin(), readings_.end(), [this](const auto& entry) {
    return still_for(*entry.second) >= kStandsStill;
  });
}

Error PatientReads::silent(const std::string& folder, const Reading& reading) const {
  const PathTrail::Place place = reading.trail->place();
  const Reach reach = place.arrived ? reading.reach : Reach::kFolder;
  return silence_of(folder, suspect_mounts(place.path, reach, mounted_places()),
                    clock_.wall() - still_for(reading));
}

std::optional<Error> PatientReads::refusal(const std::string& folder,
                                           const std::string& group) const {
  const auto found = readings_.find(folder);
  if (found != readings_.end() && still_for(*found->second) >= silent_max_) {
    return silent(folder, *found->second);
  }
  std::size_t silent_ones = 0;
  std::size_t of_group = 0;
  for (const auto& [other, reading] : readings_) {
    if (still_for(*reading) < silent_max_) continue;
    ++silent_ones;
    of_group += !group.empty() && reading->group == group ? 1 : 0;
  }
  if (silent_ones < at_once_max() && of_group < kGroupMax) return std::nullopt;
  const auto one = std::find_if(readings_.begin(), readings_.end(), [&](const auto& entry) {
    return of_group < kGroupMax || entry.second->group == group;
  });
  return silent(one->first, *one->second);
}

Result<PatientReads::ReadingPtr> PatientReads::begin(const std::string& folder, std::string group,
                                                     Reach reach,
                                                     std::function<void(PathTrail&)> read) {
  CHECK(may_begin(folder, group), "a read begins before its turn");
  const auto reading = std::make_shared<Reading>();
  reading->group = std::move(group);
  reading->moved_at = clock_.boot();
  reading->reach = reach;
  reading->trail = std::make_shared<PathTrail>(folder);
  auto follow_and_read = [trail = reading->trail, folder, read = std::move(read)] {
    trail->follow(folder);
    read(*trail);
  };
  reading->call.emplace(
      TRY(async::AbandonableCall::start(loop_, thread_, std::move(follow_and_read), [this, folder] {
        const auto found = readings_.find(folder);
        CHECK(found != readings_.end(), "a read ends that nobody began");
        const ReadingPtr ended = found->second;
        readings_.erase(found);
        ended->done = true;
        changed_.notify_all();
      })));
  readings_[folder] = reading;
  return reading;
}

void PatientReads::stop() {
  stopped_ = true;
  changed_.notify_all();
}

Async<void> PatientReads::wait_for_turn(std::string folder, std::string group) {
  if (waiting_[group] >= kWaitingMax) {
    co_return Error(Errc::kFull, std::to_string(kWaitingMax) + " reads wait already")
        .with_hint("ask again later");
  }
  ++waiting_[group];
  Result<void> turn;
  while (!stopped_) {
    look();
    const std::optional<Error> refused = refusal(folder, group);
    if (refused) turn = *refused;
    if (refused || may_begin(folder, group)) break;
    // That others stand still lets one of all begin, and one of its folder tells when it ends.
    Result<async::Wake> woken = turns_ == Turns::kPerFolder
                                    ? co_await changed_.wait_for(kSilentLook)
                                    : co_await changed_.wait_for(kLookEvery);
    CHECK(woken.ok(), "a wait without a token was stopped");
  }
  if (stopped_) turn = async::cancelled_error();
  if (--waiting_[group] == 0) waiting_.erase(group);
  co_return turn;
}

Async<void> PatientReads::wait_for_end(ReadingPtr reading, std::string folder) {
  while (!reading->done) {
    if (stopped_) co_return async::cancelled_error();
    look();
    if (still_for(*reading) >= silent_max_) co_return silent(folder, *reading);
    Result<async::Wake> woken = co_await changed_.wait_for(kLookEvery);
    CHECK(woken.ok(), "a wait without a token was stopped");
  }
  co_return {};
}

}  // namespace runnel::agent
