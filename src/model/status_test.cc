#include "model/status.h"

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace runnel::model {
namespace {

constexpr std::array kLevels = {Level::kJob, Level::kStep, Level::kTask, Level::kAttempt};

std::vector<Status> all() {
  std::vector<Status> out;
  for (int i = 0; i < kStatusCount; ++i) out.push_back(static_cast<Status>(i));
  return out;
}

std::vector<Status> next(Level level, Status from) {
  std::vector<Status> out;
  for (const Status to : all()) {
    if (allowed(level, from, to)) out.push_back(to);
  }
  return out;
}

// What can be reached from `start` by changes of the table.
std::set<Status> reachable(Level level, Status start) {
  std::set<Status> seen = {start};
  std::vector<Status> open = {start};
  while (!open.empty()) {
    const Status from = open.back();
    open.pop_back();
    for (const Status to : next(level, from)) {
      if (seen.insert(to).second) open.push_back(to);
    }
  }
  return seen;
}

Status first_of(Level level) {
  return level == Level::kAttempt ? Status::kStarting : Status::kQueued;
}

TEST(Status, EveryWordIsReadBack) {
  std::set<std::string_view> words;
  for (const Status status : all()) {
    EXPECT_EQ(parse_status(to_string(status)).value(), status);
    words.insert(to_string(status));
  }
  EXPECT_EQ(words.size(), all().size());
  EXPECT_EQ(to_string(Status::kOutOfMemory), "OUT_OF_MEMORY");
  EXPECT_EQ(to_string(Status::kPreempted), "PREEMPTED");
  for (const Fault fault : {Fault::kNone, Fault::kUser, Fault::kPlatform, Fault::kUnknown}) {
    EXPECT_EQ(parse_fault(to_string(fault)).value(), fault);
  }
}

TEST(Status, UnknownWordNamesTheNearest) {
  const Result<Status> near = parse_status("SUCEEDED");
  ASSERT_FALSE(near.ok());
  EXPECT_EQ(near.error().code, Errc::kInvalid);
  EXPECT_EQ(near.error().value, "SUCEEDED");
  EXPECT_NE(near.error().hint.find("SUCCEEDED"), std::string::npos);
  EXPECT_FALSE(parse_status("").ok());
  EXPECT_FALSE(parse_status("queued").ok());
  const Result<Fault> far = parse_fault("somebody else");
  ASSERT_FALSE(far.ok());
  EXPECT_NE(far.error().hint.find("none, user, platform, unknown"), std::string::npos);
}

TEST(Status, EndsAreTheLastNine) {
  for (const Status status : all()) EXPECT_EQ(is_end(status), status >= Status::kSucceeded);
}

TEST(Status, NoEndIsLeft) {
  for (const Level level : kLevels) {
    for (const Status from : all()) {
      if (is_end(from)) {
        EXPECT_TRUE(next(level, from).empty()) << to_string(from);
      }
    }
  }
}

TEST(Status, NothingChangesToItself) {
  for (const Level level : kLevels) {
    for (const Status status : all()) EXPECT_FALSE(allowed(level, status, status));
  }
}

// The states that the conventions give each level, no more and no less.
TEST(Status, EachLevelReachesExactlyItsStates) {
  using enum Status;
  const std::map<Level, std::set<Status>> expected = {
      {Level::kJob, {kQueued, kRunning, kPaused, kSucceeded, kFailed, kCancelled}},
      {Level::kStep, {kQueued, kRunning, kPaused, kSucceeded, kFailed, kCancelled, kSkipped}},
      {Level::kTask,
       {kQueued, kAdmitted, kStarting, kRunning, kCompleting, kPaused, kRecovering, kSucceeded,
        kFailed, kCancelled, kSkipped, kPruned, kTimeout, kOutOfMemory}},
      {Level::kAttempt,
       {kStarting, kRunning, kCompleting, kSucceeded, kFailed, kCancelled, kTimeout, kOutOfMemory,
        kNodeFail, kPreempted}}};
  for (const auto& [level, states] : expected) {
    EXPECT_EQ(reachable(level, first_of(level)), states) << static_cast<int>(level);
  }
}

TEST(Status, EveryLiveStateCanEnd) {
  for (const Level level : kLevels) {
    for (const Status from : reachable(level, first_of(level))) {
      const std::set<Status> later = reachable(level, from);
      EXPECT_TRUE(std::any_of(later.begin(), later.end(), is_end)) << to_string(from);
      EXPECT_TRUE(later.contains(Status::kCancelled) || is_end(from)) << to_string(from);
    }
  }
}

TEST(Status, TheTableOfTasksIsTheOneAgreed) {
  using enum Status;
  const std::vector<Status> ends = {kSucceeded, kFailed,  kCancelled,
                                    kPruned,    kTimeout, kOutOfMemory};
  const auto with_ends = [&](std::vector<Status> more) {
    more.insert(more.end(), ends.begin(), ends.end());
    std::sort(more.begin(), more.end());
    return more;
  };
  const std::vector<Status> waiting = {kAdmitted,  kStarting, kPaused,
                                       kCancelled, kSkipped,  kPruned};
  const std::vector<Status> admitted = {kQueued, kStarting, kPaused, kCancelled, kSkipped};
  const std::vector<Status> recovering = {kQueued,    kStarting, kPaused, kFailed,
                                          kCancelled, kSkipped,  kPruned};
  const std::vector<Status> paused = {kQueued, kCancelled, kSkipped, kPruned};
  EXPECT_EQ(next(Level::kTask, kQueued), waiting);
  EXPECT_EQ(next(Level::kTask, kAdmitted), admitted);
  EXPECT_EQ(next(Level::kTask, kStarting), with_ends({kRunning, kQueued, kRecovering, kPaused}));
  EXPECT_EQ(next(Level::kTask, kRunning), with_ends({kCompleting, kQueued, kRecovering, kPaused}));
  EXPECT_EQ(next(Level::kTask, kCompleting), with_ends({kQueued, kRecovering, kPaused}));
  EXPECT_EQ(next(Level::kTask, kRecovering), recovering);
  EXPECT_EQ(next(Level::kTask, kPaused), paused);
}

TEST(Status, OnlyARetryReopens) {
  using enum Status;
  for (const Level level : kLevels) {
    for (const Status status : all()) {
      if (reopenable(level, status)) {
        EXPECT_TRUE(is_end(status));
      }
    }
    EXPECT_FALSE(reopenable(level, kSucceeded));
    EXPECT_FALSE(reopenable(Level::kAttempt, kFailed));
  }
  EXPECT_TRUE(reopenable(Level::kJob, kFailed));
  EXPECT_TRUE(reopenable(Level::kJob, kCancelled));
  EXPECT_FALSE(reopenable(Level::kJob, kRunning));
  EXPECT_TRUE(reopenable(Level::kStep, kSkipped));
  EXPECT_TRUE(reopenable(Level::kTask, kTimeout));
  EXPECT_FALSE(reopenable(Level::kTask, kPruned));
}

// J16: ten thousand lives in random order. Whoever asks allowed() first never leaves an end state.
TEST(Status, TenThousandRandomLives) {
  constexpr int kLives = 10'000;
  constexpr int kAsks = 200;
  std::mt19937_64 random(16);
  std::map<Level, int> ended;
  for (int life = 0; life < kLives; ++life) {
    const Level level = kLevels[static_cast<std::size_t>(life) % kLevels.size()];
    Status status = first_of(level);
    int ends = 0;
    for (int ask = 0; ask < kAsks; ++ask) {
      const auto to = static_cast<Status>(random() % kStatusCount);
      if (!allowed(level, status, to)) continue;
      ASSERT_FALSE(is_end(status)) << to_string(status) << " -> " << to_string(to);
      ASSERT_NE(status, to);
      status = to;
      ends += is_end(status) ? 1 : 0;
    }
    ASSERT_LE(ends, 1);
    ended[level] += ends;
  }
  for (const Level level : kLevels) EXPECT_GT(ended[level], kLives / 4 * 9 / 10);
}

}  // namespace
}  // namespace runnel::model
