#include "brain/index.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "brain/index_check.h"
#include "brain/testing/brain_harness.h"

namespace runnel::brain {
namespace {

using testing::BrainHarness;
using testing::step;

// Decides at random, and follows it by an index of its own.
class Followed {
 public:
  explicit Followed(std::uint64_t seed) : random_(seed) {
    harness_.runner = "home";
    for (int node = 0; node < 3; ++node) harness_.join("n" + std::to_string(node), 4);
  }

  void act() {
    switch (random_() % 8) {
      case 0: return submit();
      case 1: return lose();
      case 2: return crash();
      case 3: return harness_.pass(Duration::seconds(static_cast<std::int64_t>(random_() % 20)));
      default: return end();
    }
  }
  // What was decided since the last time.
  void follow() {
    for (; followed_ < harness_.history.size(); ++followed_) {
      apply(state_, harness_.history[followed_], harness_.now);
      index_.follow(state_, harness_.history[followed_]);
    }
    harness_.wake();
  }

  const Index& index() const { return index_; }
  const State& state() const { return state_; }

 private:
  void submit() {
    model::StepSpec some = step("some", static_cast<std::int64_t>(random_() % 6) + 1);
    if (random_() % 2 == 0) some.max_duration = Duration::minutes(5);
    if (random_() % 3 == 0) some.num_nodes = 2;
    harness_.submit({some});
  }
  const Lane* some_lane() {
    const auto& lanes = harness_.brain.state().lanes;
    if (lanes.empty()) return nullptr;
    return &std::next(lanes.begin(), static_cast<std::ptrdiff_t>(random_() % lanes.size()))->second;
  }
  void end() {
    const Lane* lane = some_lane();
    if (lane == nullptr || lane->queue.empty()) return;
    const model::TaskRef task{lane->job, lane->step, lane->queue.front()};
    const model::AttemptRef attempt{task, find_task(harness_.brain.state(), task)->live->number};
    const std::vector<model::Place> places = lane->places();
    for (std::size_t rank = 0; rank < places.size(); ++rank) {
      harness_.ended(places[rank].node.str(), attempt, random_() % 4 == 0 ? 1 : 0,
                     static_cast<int>(rank));
    }
  }
  void lose() { harness_.lose("n" + std::to_string(random_() % 3)); }
  // The runner that they share crashes; the first node that joins again has the crash judged.
  void crash() {
    const std::string life = std::to_string(++life_);
    for (int node = 0; node < 3; ++node) {
      model::NodeJoin input{
          harness_.brain.state().nodes.at(NodeId("n" + std::to_string(node))).info,
          Incarnation(life)};
      harness_.decide(input);
    }
  }

  std::mt19937_64 random_;
  BrainHarness harness_;
  State state_;
  Index index_;
  std::size_t followed_ = 0;
  int life_ = 1;
};

// A brain that plans by what it followed plans as one that has just read the state.
TEST(Index, WhatWasFollowedIsWhatTheStateSays) {
  std::size_t ends_most = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Followed followed(seed);
    for (int round = 0; round < 60; ++round) {
      followed.act();
      followed.follow();
      ASSERT_EQ(check_index(followed.index(), followed.state()), "")
          << "seed " << seed << " round " << round;
      ends_most = std::max(ends_most, followed.index().ends.size());
    }
  }
  EXPECT_GT(ends_most, 5U);
}

}  // namespace
}  // namespace runnel::brain
