#include "search/population.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "base/check.h"
#include "search/explore.h"
#include "search/permutation.h"

namespace runnel::search {
namespace {

enum class Purpose : std::uint8_t { kDonor, kExplore };

std::uint64_t key_for(Purpose purpose, std::uint64_t seed, std::int64_t trial, std::int64_t step) {
  const std::uint64_t key = derive(seed, static_cast<std::uint64_t>(trial));
  return derive(derive(key, static_cast<std::uint64_t>(step)), static_cast<std::uint64_t>(purpose));
}

}  // namespace

Population::Population(const model::PopulationSpec& spec, std::vector<Axis> axes,
                       std::uint64_t seed)
    : spec_(spec), axes_(std::move(axes)), seed_(seed) {
  CHECK(spec_.every > 0, "judgements that do not move on");
  CHECK(spec_.quantile_percent > 0, "a population in which nobody is among the worst");
  CHECK(spec_.quantile_percent <= 50, "a member would be among the best and the worst");
}

std::optional<std::int64_t> Population::next_step(std::int64_t /*trial*/, std::int64_t step) const {
  const std::int64_t last = step - step % spec_.every;
  if (last > std::numeric_limits<std::int64_t>::max() - spec_.every) return std::nullopt;
  const std::int64_t next = last + spec_.every;
  if (spec_.max_step > 0 && next >= spec_.max_step) return std::nullopt;
  return next;
}

std::optional<Exploit> Population::reported(std::int64_t trial, std::int64_t step, double value) {
  CHECK(std::isfinite(value), "a report that is no number reached a population");
  const auto found = members_.find(trial);
  CHECK(found != members_.end(), "a report of a trial that is no member");
  Member& member = found->second;
  if (step / spec_.every <= member.judged_step / spec_.every) return std::nullopt;
  if (spec_.max_step > 0 && step >= spec_.max_step) return std::nullopt;
  forget_report(trial, member);
  member.judged_step = step;
  member.value = value;
  const auto place = standings_.insert({value, trial}).first;

  member.offered.reset();
  const std::size_t chosen = quantile();
  const auto worse = static_cast<std::size_t>(std::distance(place, standings_.end())) - 1;
  if (worse >= chosen) return std::nullopt;
  const std::vector<std::int64_t> donors = donors_for(member, chosen);
  if (donors.empty()) return std::nullopt;
  const std::uint64_t pick =
      permute(0, donors.size(), key_for(Purpose::kDonor, seed_, trial, step));
  const std::int64_t donor = donors[pick];
  member.offered = Source{donor, members_.at(donor).judged_step};
  return Exploit{donor, explored(axes_, members_.at(donor).point, spec_.resample_percent,
                                 key_for(Purpose::kExplore, seed_, trial, step))};
}

std::vector<std::int64_t> Population::donors_for(const Member& member, std::size_t count) const {
  std::vector<std::int64_t> donors;
  auto best = standings_.begin();
  for (std::size_t place = 0; place < count; ++place, ++best) {
    const auto taken = member.taken.find(best->trial);
    const bool has_it =
        taken != member.taken.end() && taken->second == members_.at(best->trial).judged_step;
    if (!has_it) donors.push_back(best->trial);
  }
  return donors;
}

void Population::moved(std::int64_t trial, Point point) {
  CHECK(point.size() == axes_.size(), "a member got a point of another space");
  Member& member = members_[trial];
  forget_report(trial, member);
  member.point = std::move(point);
  member.judged_step = 0;
  const std::optional<Source> source = std::exchange(member.offered, std::nullopt);
  if (!source) return;
  member.judged_step = source->step;
  member.taken[source->trial] = source->step;
}

void Population::ended(std::int64_t trial) {
  const auto found = members_.find(trial);
  if (found == members_.end()) return;
  forget_report(trial, found->second);
  members_.erase(found);
}

void Population::forget_report(std::int64_t trial, Member& member) {
  if (member.value) standings_.erase({*member.value, trial});
  member.value.reset();
}

// At most half of them, so that no one is at both ends.
std::size_t Population::quantile() const {
  const std::size_t members = standings_.size();
  if (members < 2) return 0;
  const std::size_t share = members * static_cast<std::size_t>(spec_.quantile_percent) / 100;
  return std::max<std::size_t>(share, 1);
}

}  // namespace runnel::search
