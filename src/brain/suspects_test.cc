#include "brain/suspects.h"

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "brain/explain.h"
#include "brain/testing/brain_harness.h"

namespace runnel::brain {
namespace {

using model::EndCause;
using model::Status;
using testing::BrainHarness;
using testing::step;

// One node, whose runner crashes now and then.
class Suspects : public ::testing::Test {
 protected:
  void SetUp() override { harness_.join("a", 8); }

  std::vector<model::AttemptRef> live() const {
    std::vector<model::AttemptRef> found;
    for (const auto& [id, lane] : harness_.brain.state().lanes) {
      for (const TaskIndex index : lane.queue) {
        const model::TaskRef task{lane.job, lane.step, index};
        found.push_back({task, find_task(harness_.brain.state(), task)->live->number});
      }
    }
    return found;
  }

  void start_all() {
    for (const model::AttemptRef& attempt : live()) {
      model::RankReport fact;
      fact.attempt = attempt;
      fact.started_at = started_.try_emplace(attempt, harness_.now).first->second;
      harness_.report("a", fact, std::to_string(life_));
    }
  }

  // All that runs is lost with its runner.
  void crash(EndCause cause = EndCause::kRunnerLost) {
    std::vector<model::RankReport> ranks;
    for (const model::AttemptRef& attempt : live()) {
      ranks.push_back(BrainHarness::end_of(attempt, 0, harness_.now, 0, cause));
      ranks.back().started_at = started_.at(attempt);
    }
    harness_.rejoin("a", std::to_string(++life_), ranks);
  }

  void pass(Duration duration) {
    harness_.pass(duration);
    harness_.wake();
    start_all();
  }

  // Until something runs again.
  void wait() {
    for (int tries = 0; tries < 1'000 && live().empty(); ++tries) {
      const auto at = harness_.brain.next_wake(harness_.now);
      ASSERT_TRUE(at.has_value()) << "nothing would ever start";
      pass(std::max(*at - harness_.now, Duration::millis(1)));
    }
    start_all();
  }

  void end_all() {
    for (const model::AttemptRef& attempt : live()) {
      harness_.report("a", BrainHarness::end_of(attempt, 0, harness_.now), std::to_string(life_));
    }
  }

  const Task& task(const JobId& job, std::int64_t index) {
    return *find_task(harness_.brain.state(), {job, StepIndex(0), TaskIndex(index)});
  }
  bool is_live(const JobId& job, std::int64_t index) {
    const Task* kept = find_task(harness_.brain.state(), {job, StepIndex(0), TaskIndex(index)});
    return kept != nullptr && kept->live.has_value();
  }

  bool is_done(const JobId& job) const { return harness_.job_status(job) == Status::kSucceeded; }

  BrainHarness harness_;
  int life_ = 1;
  std::map<model::AttemptRef, Time> started_;
};

TEST_F(Suspects, OneCrashAccusesNobody) {
  const JobId job = harness_.submit({step("both", 2)});
  start_all();
  crash();
  EXPECT_EQ(live().size(), 2U) << "both run again at once, side by side";
  EXPECT_EQ(task(job, 0).crashes, 1);
  EXPECT_FALSE(task(job, 0).suspicion);
}

TEST_F(Suspects, AfterTheSecondCrashOneRunsAtATimeTheYoungestFirst) {
  const JobId old = harness_.submit({step("old")});
  start_all();
  pass(Duration::minutes(5));
  crash();
  start_all();
  pass(Duration::minutes(5));
  const JobId young = harness_.submit({step("young")});
  start_all();
  crash();  // The first of `young`, the second of `old`.
  wait();
  EXPECT_TRUE(is_live(young, 0)) << "whoever was there might have done it";
  EXPECT_FALSE(is_live(old, 0)) << "it waits for its turn";
  const auto waits = harness_.brain.explain(old, harness_.now).value();
  EXPECT_EQ(waits.at(0).reason, "TriedApart") << waits.at(0).message;
  crash();
  wait();
  EXPECT_EQ(live().size(), 1U);
  EXPECT_TRUE(is_live(young, 0)) << "it is found out";
  EXPECT_FALSE(task(old, 0).suspicion) << "and so the other one is explained";
}

TEST_F(Suspects, ACrashLongAfterTheLastOneIsAFirst) {
  const JobId job = harness_.submit({step("both", 2)});
  start_all();
  Duration run_for = Duration::hours(1);
  pass(run_for);
  for (int times = 0; times < 5; ++times) {
    crash();
    EXPECT_EQ(task(job, 0).crashes, 1);
    EXPECT_FALSE(task(job, 0).suspicion);
    pass(Duration::minutes(2));
    EXPECT_EQ(live().size(), 2U) << "side by side";
    run_for = run_for * 3;
    pass(run_for);
  }
}

TEST_F(Suspects, NobodyGetsInWhileSuspectsWaitForTheirNextAttempt) {
  const JobId poison = harness_.submit({step("poison")});
  start_all();
  crash();
  wait();
  crash();
  ASSERT_TRUE(live().empty()) << "it waits for its next attempt";
  model::StepSpec brief = step("brief");
  brief.max_duration = Duration::millis(100);
  brief.grace = Duration::millis(100);
  const JobId later = harness_.submit({step("later")});
  const JobId passing = harness_.submit({brief});
  EXPECT_FALSE(is_live(later, 0)) << "it may take hours, and the suspect would wait for its end";
  EXPECT_TRUE(is_live(passing, 0)) << "it will have ended before";
  const auto waits = harness_.brain.explain(later, harness_.now).value();
  EXPECT_EQ(waits.at(0).reason, "Resources");
  EXPECT_NE(waits.at(0).message.find("is kept for tasks that ran when its runner was killed"),
            std::string::npos)
      << waits.at(0).message;
  const JobId third = harness_.submit({step("third")});
  const auto behind = harness_.brain.explain(third, harness_.now).value();
  EXPECT_EQ(behind.at(0).message, waits.at(0).message) << "no priority would help it";
  harness_.report("a", BrainHarness::end_of(live()[0], 0, harness_.now), std::to_string(life_));
  wait();
  EXPECT_TRUE(is_live(poison, 0));
}

TEST_F(Suspects, OfAStepTheSecondOneIsFoundOutSooner) {
  const JobId job = harness_.submit({step("poison", 3)});
  std::map<std::int64_t, int> lost_alone;
  for (int crashes = 0; crashes < 60 && harness_.job_status(job) != Status::kFailed; ++crashes) {
    wait();
    pass(Duration::seconds(1));
    if (live().size() == 1) {
      const std::int64_t index = live()[0].task.index.value();
      if (task(job, index).suspicion) ++lost_alone[index];
    }
    crash();
  }
  ASSERT_EQ(harness_.job_status(job), Status::kFailed);
  std::vector<int> losses;
  for (const auto& [index, count] : lost_alone) losses.push_back(count);
  std::sort(losses.begin(), losses.end());
  EXPECT_EQ(losses.back(), kAloneMax);
  EXPECT_LE(losses.at(1), kAloneMaxOfKind);
}

TEST_F(Suspects, TheGuiltyOneIsFoundOutAndTheInnocentGetsThrough) {
  const JobId innocent = harness_.submit({step("innocent")});
  const JobId poison = harness_.submit({step("poison")});
  int lost = 0;
  for (int crashes = 0; crashes < 50 && harness_.job_status(poison) != Status::kFailed; ++crashes) {
    wait();
    if (is_live(poison, 0)) {
      pass(Duration::seconds(1));
      lost += is_live(innocent, 0) ? 1 : 0;
      crash();
    } else {
      pass(Duration::seconds(6));
      end_all();
    }
  }
  EXPECT_EQ(harness_.job_status(innocent), Status::kSucceeded);
  EXPECT_EQ(harness_.job_status(poison), Status::kFailed);
  EXPECT_LE(lost, 2);
  EXPECT_EQ(task(poison, 0).reason, "RunnerLost");
  const auto ends = harness_.all<model::AttemptEnded>(harness_.history);
  EXPECT_EQ(ends.back().message,
            "the node's runner was killed 5 times in a row while only this task ran on its node");
}

TEST_F(Suspects, OfManyHalfGoTogether) {
  const JobId job = harness_.submit({step("many", 8)});
  start_all();
  EXPECT_EQ(live().size(), 8U);
  crash();
  start_all();
  crash();
  std::map<std::int32_t, int> turns;
  for (int index = 0; index < 8; ++index) ++turns[task(job, index).suspicion->turn];
  EXPECT_EQ(turns, (std::map<std::int32_t, int>{{0, 4}, {1, 2}, {2, 1}, {3, 1}}));
  pass(Duration::seconds(2));
  EXPECT_EQ(live().size(), 4U) << "the others wait for their turn";
  end_all();
  pass(Duration::millis(1));
  EXPECT_EQ(live().size(), 2U);
  crash();
  EXPECT_FALSE(task(job, live().empty() ? 0 : live()[0].task.index.value()).suspicion)
      << "the two that were left are explained";
}

TEST_F(Suspects, WhoeverRunsApartForLongEnoughIsCleared) {
  const JobId job = harness_.submit({step("both", 2)});
  for (int times = 0; times < 2; ++times) {
    start_all();
    pass(Duration::seconds(20));
    crash();
  }
  wait();
  ASSERT_EQ(live().size(), 1U);
  const std::int64_t first = live()[0].task.index.value();
  pass(Duration::seconds(49));
  EXPECT_EQ(live().size(), 1U);
  pass(Duration::seconds(1));
  EXPECT_EQ(task(job, first).crashes, 0) << "twice its 20 s, and 10 s";
  EXPECT_EQ(live().size(), 2U) << "the other one does not wait for its end";
  const JobId other = harness_.submit({step("other")});
  EXPECT_FALSE(is_live(other, 0));
  EXPECT_EQ(harness_.brain.explain(other, harness_.now).value().at(0).reason, "Resources");
  pass(Duration::seconds(50));
  EXPECT_TRUE(is_live(other, 0)) << "the node is everybody's again";
}

TEST_F(Suspects, NoNodeIsKeptForHoursByWhatRanForHours) {
  const JobId job = harness_.submit({step("both", 2)});
  start_all();
  pass(Duration::hours(5));
  crash();
  start_all();
  pass(Duration::hours(5));
  crash();
  ASSERT_TRUE(task(job, 0).suspicion);
  EXPECT_EQ(task(job, 0).outlive, Duration::minutes(10));
}

TEST_F(Suspects, WhoWasLostAloneWaitsByTheLengthOfItsRun) {
  for (const Duration ran : {Duration::millis(100), Duration::seconds(8)}) {
    const JobId job = harness_.submit({step("one")});
    for (int times = 0; times < 4; ++times) {
      start_all();
      pass(ran);
      crash();
      if (task(job, 0).alone == 0) continue;
      const Duration least = std::max(ran * 2, Duration::seconds(1));
      const Duration wait = task(job, 0).not_before - harness_.now;
      EXPECT_GE(wait, least) << times;
      EXPECT_LE(wait * 4, least * 5) << times;
      pass(wait);
    }
    EXPECT_GE(task(job, 0).alone, 2);
    harness_.request(job, model::JobRequest::Verb::kCancel);
  }
}

TEST_F(Suspects, AMachineThatRestartsAccusesNobody) {
  const JobId job = harness_.submit({step("both", 2)});
  for (int times = 0; times < 5; ++times) {
    pass(Duration::minutes(2));
    crash(EndCause::kVanished);
  }
  EXPECT_EQ(task(job, 0).losses, 5);
  EXPECT_EQ(task(job, 0).crashes, 0);
}

TEST_F(Suspects, WhatEndsByItselfIsCleared) {
  model::StepSpec spec = step("one");
  spec.retry.max = 1;
  const JobId job = harness_.submit({spec});
  start_all();
  crash();
  wait();
  crash();
  wait();
  ASSERT_TRUE(task(job, 0).suspicion);
  harness_.report("a", BrainHarness::end_of(live()[0], 1, harness_.now), std::to_string(life_));
  EXPECT_EQ(task(job, 0).crashes, 0);
  EXPECT_FALSE(task(job, 0).suspicion);
}

TEST_F(Suspects, ACrashWhileNothingRunsClearsWhomWasLostThere) {
  const JobId job = harness_.submit({step("one")});
  for (int times = 0; times < 20; ++times) {
    start_all();
    crash();
    if (times > 0) {
      ASSERT_TRUE(live().empty()) << "it waits for its next attempt";
      harness_.crash_idle("a", std::to_string(++life_));
      EXPECT_FALSE(task(job, 0).suspicion);
      EXPECT_EQ(task(job, 0).alone, 0);
    }
    wait();
    ASSERT_EQ(harness_.job_status(job), Status::kRunning) << times;
  }
}

TEST_F(Suspects, ACrashOfAnotherNodeWhileNothingRunsClearsNobody) {
  harness_.join("b", 1);
  model::StepSpec large = step("large");
  large.resources.milli_cpus = 8'000;
  const JobId job = harness_.submit({large});
  start_all();
  crash();
  wait();
  crash();
  ASSERT_TRUE(task(job, 0).suspicion);
  harness_.crash_idle("b", "2");
  EXPECT_TRUE(task(job, 0).suspicion);
  harness_.crash_idle("a", std::to_string(++life_));
  EXPECT_FALSE(task(job, 0).suspicion);
}

TEST_F(Suspects, WhoeverWasLostAloneAndEndsClearsTheOthersOfItsNode) {
  const JobId first = harness_.submit({step("first")});
  start_all();
  crash();
  wait();
  crash();
  ASSERT_TRUE(task(first, 0).suspicion);
  model::StepSpec brief = step("second");
  brief.max_duration = Duration::millis(100);
  brief.grace = Duration::millis(100);
  const JobId second = harness_.submit({brief});
  start_all();
  ASSERT_TRUE(is_live(second, 0)) << "it ends before the first one's next attempt";
  crash();
  start_all();
  ASSERT_TRUE(is_live(second, 0));
  crash();
  ASSERT_TRUE(task(second, 0).suspicion);
  wait();
  end_all();
  const JobId still = is_done(first) ? second : first;
  EXPECT_FALSE(task(still, 0).suspicion) << "something else kills the runner";
}

// Two nodes whose runner is one.
class SharedRunner : public ::testing::Test {
 protected:
  void SetUp() override {
    harness_.runner = "home";
    harness_.join("a", 1);
    harness_.join("b", 1);
  }

  // The loss of what is live, by node.
  std::map<std::string, std::vector<model::RankReport>> lost() {
    std::map<std::string, std::vector<model::RankReport>> ranks = {{"a", {}}, {"b", {}}};
    for (const auto& [id, lane] : harness_.brain.state().lanes) {
      const model::TaskRef task{lane.job, lane.step, lane.queue.front()};
      const AttemptNumber number = find_task(harness_.brain.state(), task)->live->number;
      ranks[lane.places().front().node.str()].push_back(
          BrainHarness::end_of({task, number}, 0, harness_.now, 0, EndCause::kRunnerLost));
    }
    return ranks;
  }

  // The joins come one after the other, each with all that the crash took.
  void crash() {
    const auto ranks = lost();
    const std::string life = std::to_string(++life_);
    harness_.rejoin("a", life, ranks.at("a"), {{NodeId("b"), ranks.at("b")}});
    harness_.rejoin("b", life, ranks.at("b"), {{NodeId("a"), ranks.at("a")}});
  }

  const Task& task(const JobId& job) {
    return *find_task(harness_.brain.state(), {job, StepIndex(0), TaskIndex(0)});
  }

  void wait_for(std::size_t lanes) {
    for (int tries = 0; tries < 1'000 && harness_.brain.state().lanes.size() < lanes; ++tries) {
      const auto at = harness_.brain.next_wake(harness_.now);
      ASSERT_TRUE(at.has_value()) << "nothing would ever start";
      harness_.pass(std::max(*at - harness_.now, Duration::millis(1)));
      harness_.wake();
    }
  }

  BrainHarness harness_;
  int life_ = 1;
};

TEST_F(SharedRunner, OneCrashOfTwoNodesCountsOnceAndNobodyWasAlone) {
  const JobId one = harness_.submit({step("one")});
  const JobId other = harness_.submit({step("other")});
  ASSERT_EQ(harness_.brain.state().lanes.size(), 2U);
  crash();
  EXPECT_EQ(task(one).crashes, 1);
  EXPECT_EQ(task(other).crashes, 1);
  wait_for(2);
  crash();
  for (const JobId& job : {one, other}) {
    EXPECT_EQ(task(job).crashes, 2);
    ASSERT_TRUE(task(job).suspicion);
    EXPECT_FALSE(task(job).suspicion->alone);
  }
  EXPECT_EQ(task(one).suspicion->crash, task(other).suspicion->crash);
}

TEST_F(SharedRunner, ASuspectHasTheWholeRunnerForItself) {
  harness_.submit({step("one")});
  harness_.submit({step("other")});
  crash();
  wait_for(2);
  crash();
  wait_for(1);
  harness_.submit({step("later")});
  EXPECT_EQ(harness_.brain.state().lanes.size(), 1U)
      << "nothing beside it, on the other node either";
  crash();
  std::int64_t alone = 0;
  for (const auto& [id, job] : harness_.brain.state().jobs) {
    alone += job.steps[0].tasks.contains(TaskIndex(0)) ? task(id).alone : 0;
  }
  EXPECT_EQ(alone, 1);
}

TEST_F(SharedRunner, ACrashThatCameBetweenTheJoinsOfAnotherIsJudgedOnce) {
  const JobId one = harness_.submit({step("one")});
  const JobId other = harness_.submit({step("other")});
  const auto ranks = lost();
  harness_.rejoin("a", "2", ranks.at("a"), {{NodeId("b"), ranks.at("b")}});
  harness_.rejoin("a", "3", ranks.at("a"), {{NodeId("b"), ranks.at("b")}});
  harness_.rejoin("b", "3", ranks.at("b"), {{NodeId("a"), ranks.at("a")}});
  EXPECT_EQ(task(one).crashes, 1);
  EXPECT_EQ(task(other).crashes, 1);
}

TEST_F(SharedRunner, AnIdleCrashToldByOneNodeClearsThoseOfTheOther) {
  const JobId one = harness_.submit({step("one")});
  const JobId other = harness_.submit({step("other")});
  crash();
  wait_for(2);
  crash();
  harness_.crash_idle("b", std::to_string(++life_));
  EXPECT_FALSE(task(one).suspicion);
  EXPECT_FALSE(task(other).suspicion);
}

TEST_F(Suspects, AHaltedOneKeepsNobodyWaiting) {
  const JobId first = harness_.submit({step("first")});
  const JobId second = harness_.submit({step("second")});
  start_all();
  crash();
  start_all();
  crash();
  wait();
  ASSERT_EQ(live().size(), 1U);
  const JobId running = live()[0].task.job;
  const JobId waiting = running == first ? second : first;
  harness_.request(running, model::JobRequest::Verb::kHalt);
  harness_.report("a", BrainHarness::end_of(live()[0], 143, harness_.now, 0, EndCause::kStopped),
                  std::to_string(life_));
  wait();
  EXPECT_TRUE(is_live(waiting, 0));
  end_all();
  harness_.request(running, model::JobRequest::Verb::kResume);
  wait();
  EXPECT_TRUE(is_live(running, 0));
  EXPECT_TRUE(task(running, 0).suspicion) << "a halt proves nothing";
}

TEST_F(Suspects, AreReadBackFromASnapshot) {
  harness_.submit({step("both", 2)});
  start_all();
  crash();
  start_all();
  crash();
  wait();
  const std::string text = encode_state(harness_.brain.state());
  const Result<State> read = decode_state(text);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(encode_state(*read), text);
  EXPECT_EQ(encode_state(harness_.replica()), text);
  Brain again(*read);
  const Time later = harness_.now + Duration::minutes(1);
  const auto events = again.decide(model::Wake{}, later).events;
  EXPECT_FALSE(harness_.all<model::TaskCleared>(events).empty());
  EXPECT_EQ(events, harness_.brain.decide(model::Wake{}, later).events);
}

TEST_F(Suspects, WaitsOfThoseLostTogetherDiffer) {
  const JobId job = harness_.submit({step("many", 8)});
  std::map<Time, int> waits;
  start_all();
  crash(EndCause::kVanished);
  start_all();
  crash(EndCause::kVanished);
  for (int index = 0; index < 8; ++index) ++waits[task(job, index).not_before];
  EXPECT_GT(waits.size(), 4U);
  EXPECT_GE(waits.begin()->first, harness_.now + Duration::seconds(1));
  EXPECT_LE(waits.rbegin()->first, harness_.now + Duration::millis(1'250));
}

}  // namespace
}  // namespace runnel::brain
