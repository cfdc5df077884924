#include "brain/index.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "brain/index_check.h"
#include "brain/testing/brain_harness.h"

namespace runnel::brain {
namespace {

using testing::BrainHarness;
using testing::step;

// The parts of an index that hold anything.
std::set<std::string> parts_of(const Index& index) {
  std::set<std::string> parts;
  const auto note = [&]<typename Part>(const char* name, const Part& part) {
    if constexpr (requires { typename Part::mapped_type; }) {
      const bool holds = std::any_of(part.begin(), part.end(), [](const auto& entry) {
        return entry.second != typename Part::mapped_type();
      });
      if (holds) parts.insert(name);
    } else if (!part.empty()) {
      parts.insert(name);
    }
  };
  note("ready", index.ready);
  note("again", index.again);
  note("suspects", index.suspects);
  note("apart", index.apart);
  note("backoffs", index.backoffs);
  note("lanes_on", index.lanes_on);
  note("devices", index.devices);
  note("congested", index.congested);
  note("keys", index.keys);
  note("leaving", index.leaving);
  note("returning", index.returning);
  note("deadlines", index.deadlines);
  note("leases", index.leases);
  note("released", index.released);
  return parts;
}

// Decides at random, and follows it by an index of its own.
class Followed {
 public:
  explicit Followed(std::uint64_t seed) : random_(seed) {
    harness_.runner = "home";
    harness_.devices = 2;
    for (int node = 0; node < 3; ++node) harness_.join("n" + std::to_string(node), 4);
  }

  void act() {
    switch (random_() % 15) {
      case 0: return submit();
      case 1: return submit_search();
      case 2: return ask();
      case 3: return lose();
      case 4: return crash();
      case 5: return give_notice();
      case 6: return look_at_devices();
      case 7: return harness_.pass(Duration::seconds(static_cast<std::int64_t>(random_() % 20)));
      case 8: return halt();
      case 9: return drain();
      default: return end();
    }
  }
  // What was decided since the last time, event by event.
  void follow() {
    for (; followed_ < harness_.history.size(); ++followed_) {
      apply(state_, harness_.history[followed_], harness_.now);
      index_.follow(state_, harness_.history[followed_]);
      ASSERT_EQ(check_index(index_, state_), "");
      seen.merge(parts_of(index_));
    }
    harness_.wake();
  }
  std::set<std::string> seen;

  const Index& index() const { return index_; }

 private:
  void submit() {
    model::StepSpec some = step("some", static_cast<std::int64_t>(random_() % 30) + 1);
    if (random_() % 2 == 0) some.max_duration = Duration::minutes(5);
    if (random_() % 3 == 0) some.num_nodes = 2;
    if (random_() % 3 == 0) some.resources.accelerators["H100"] = 1;
    model::Submit input;
    auto spec = std::make_shared<model::JobSpec>();
    spec->name = "job";
    spec->workdir = "/";
    spec->steps = {some};
    input.job = JobId("keyed" + std::to_string(++keyed_));
    if (random_() % 2 == 0) input.idempotency_key = "key" + std::to_string(keyed_);
    input.actor = "ann";
    input.spec = spec;
    harness_.decide(input);
  }
  void submit_search() {
    model::StepSpec tune = step("tune", 6);
    tune.samples.reset();
    tune.params = {
        {.name = "x", .kind = model::Parameter::Kind::kUniform, .low = "0", .high = "1"}};
    model::SearchSpec& search = tune.search.emplace();
    search.method = model::SearchSpec::Method::kRandom;
    search.objectives = {{"loss", false}};
    search.max_trials = 6;
    if (random_() % 2 == 0) search.max_duration = Duration::minutes(3);
    if (random_() % 2 == 0) tune.run = model::ExternalTrials();
    const JobId job = harness_.submit({tune});
    if (tune.is_external()) studies_.push_back(job);
  }
  void ask() {
    if (studies_.empty()) return;
    model::TrialCall call;
    call.job = studies_[random_() % studies_.size()];
    call.lease = Duration::seconds(60);
    harness_.decide(call);
  }
  void halt() {
    const auto& jobs = harness_.brain.state().jobs;
    if (jobs.empty()) return;
    const auto job = std::next(jobs.begin(), static_cast<std::ptrdiff_t>(random_() % jobs.size()));
    const bool is_halted = job->second.halted;
    harness_.request(job->first,
                     is_halted ? model::JobRequest::Verb::kResume : model::JobRequest::Verb::kHalt);
  }
  void drain() {
    const NodeId changes = some_node();
    model::NodesDeclared declared;
    for (const auto& [id, node] : harness_.brain.state().nodes) {
      declared.nodes.push_back(node.info);
      if (id == changes) declared.nodes.back().draining = !node.info.draining;
    }
    harness_.decide(declared);
  }
  NodeId some_node() { return NodeId("n" + std::to_string(random_() % 3)); }
  void give_notice() {
    const NodeId node = some_node();
    const auto& known = harness_.brain.state().nodes.at(node);
    if (!known.up) return harness_.rejoin(node.str(), std::to_string(++life_), {});
    harness_.decide(model::NodeNotice{node, known.incarnation, harness_.now + Duration::seconds(5),
                                      "Preempted"});
  }
  void look_at_devices() {
    const NodeId node = some_node();
    model::NodeReport report{node, harness_.brain.state().nodes.at(node).incarnation};
    report.devices.emplace();
    if (random_() % 2 == 0) {
      report.devices->missing.push_back({"H100", 1, "it fell off the bus", harness_.now});
    }
    harness_.decide(report);
  }
  const Lane* some_lane() {
    const auto& lanes = harness_.brain.state().lanes;
    if (lanes.empty()) return nullptr;
    return &std::next(lanes.begin(), static_cast<std::ptrdiff_t>(random_() % lanes.size()))->second;
  }
  model::AttemptRef first_of(const Lane& lane) const {
    const model::TaskRef task{lane.job, lane.step, lane.queue.front()};
    return {task, find_task(harness_.brain.state(), task)->live->number};
  }
  void end() {
    const Lane* lane = some_lane();
    if (lane == nullptr || lane->queue.empty()) return;
    const model::AttemptRef attempt = first_of(*lane);
    const std::vector<model::Place> places = lane->places();
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
      harness_.ended(places[rank].node.str(), attempt, random_() % 4 == 0 ? 1 : 0,
                     static_cast<int>(rank));
    }
  }
  void lose() {
    const NodeId node = some_node();
    harness_.lose(node.str(), harness_.brain.state().nodes.at(node).incarnation.str());
  }
  // The runner that they share crashes; the first node that joins again has the crash judged.
  void crash() {
    const std::string life = std::to_string(++life_);
    std::map<NodeId, std::vector<model::RankReport>> lost;
    for (const auto& [id, lane] : harness_.brain.state().lanes) {
      if (lane.places().empty() || lane.queue.empty()) continue;
      const model::AttemptRef attempt = first_of(lane);
      model::RankReport rank =
          BrainHarness::end_of(attempt, 0, harness_.now, 0, model::EndCause::kRunnerLost);
      rank.started_at = harness_.now - Duration::seconds(1);
      lost[lane.places().front().node].push_back(rank);
    }
    for (int node = 0; node < 3; ++node) {
      const NodeId id("n" + std::to_string(node));
      std::vector<model::LostRanks> beside;
      for (const auto& [other, ranks] : lost) {
        if (other != id) beside.push_back({other, ranks});
      }
      harness_.rejoin(id.str(), life, lost[id], std::move(beside));
    }
  }

  std::mt19937_64 random_;
  BrainHarness harness_;
  State state_;
  Index index_;
  std::size_t followed_ = 0;
  int life_ = 1;
  int keyed_ = 0;
  std::vector<JobId> studies_;
};

// A brain that plans by what it followed plans as one that has just read the state.
TEST(Index, WhatWasFollowedIsWhatTheStateSays) {
  std::size_t ends_most = 0;
  std::set<std::string> seen;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Followed followed(seed);
    for (int round = 0; round < 60; ++round) {
      followed.act();
      SCOPED_TRACE("seed " + std::to_string(seed) + " round " + std::to_string(round));
      ASSERT_NO_FATAL_FAILURE(followed.follow());
      ends_most = std::max(ends_most, followed.index().ends.size());
    }
    seen.merge(followed.seen);
  }
  EXPECT_GT(ends_most, 5U);
  EXPECT_EQ(seen.size(), 14U) << ::testing::PrintToString(seen);
}

}  // namespace
}  // namespace runnel::brain
