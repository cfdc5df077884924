#include "runner/message.h"

#include <fstream>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "model/codec.h"
#include "model/input.h"
#include "runner/testing/runner_process.h"

namespace runnel::runner {
namespace {

RankFact ended_fact() {
  RankFact fact;
  fact.node = NodeId("n1");
  fact.state = RankFact::State::kEnded;
  fact.report.attempt = {{JobId("job"), StepIndex(2), TaskIndex(1'000'000)}, AttemptNumber(3)};
  fact.report.rank = 5;
  fact.report.ended = true;
  fact.report.started_at = Time::from_millis(1'700'000'000'000);
  fact.report.ended_at = Time::from_millis(1'700'000'000'123);
  fact.report.code = 0;
  fact.report.signal = 9;
  fact.report.cause = model::EndCause::kOutOfMemory;
  fact.report.message = "over its memory limit";
  return fact;
}

PlaceStart full_place() {
  PlaceStart place = testing::place_of({"python", "train.py", ""}, 17, -4);
  place.first_rank = 8;
  place.env = {"A=1", "B="};
  place.rank_env = {{"RANK=8"}, {"RANK=9", "X=y"}};
  place.workdir = "/some/where";
  place.task_folder = TaskFolderKind::kLasting;
  place.checkpoint_dir = "deep/ckpt";
  place.memory_max = Bytes::gibi(3);
  place.max_duration = Duration::hours(5);
  place.port_check = 29'500;
  return place;
}

std::vector<Message> one_of_each() {
  const AttemptOnNode of{NodeId("n1"), ended_fact().report.attempt};
  return {Hello{1, Epoch(42)},
          StartBatch{{full_place(), testing::place_of({"/bin/true"})}},
          StopBatch{{{of, Duration::seconds(30), model::StopReason::kWithdrawn}}},
          ForgetBatch{{of, of}},
          RemoveJob{JobId("job")},
          Leave{},
          Welcome{1, Incarnation("boot-17"), 4711, "a notice", true},
          Refused{"because"},
          Facts{FactsKind::kInventoryEnd, {ended_fact(), ended_fact()}}};
}

Result<Message> decode_frame(const std::string& frame) {
  const std::size_t size = TRY(frame_size(frame));
  EXPECT_EQ(size, frame.size());
  return decode_body(std::string_view(frame).substr(kFrameHeaderBytes));
}

TEST(RunnerMessage, EachArrivesAsItWasSent) {
  for (const Message& message : one_of_each()) {
    std::string frame;
    encode_frame(message, frame);
    const Result<Message> back = decode_frame(frame);
    ASSERT_TRUE(back.ok()) << message.index();
    EXPECT_TRUE(*back == message) << message.index();
  }
}

// A runner outlives an upgrade of its daemon: both sides write and read these bytes for as long as
// the version is the same. Add lines for new kinds of messages; never change these.
TEST(RunnerMessage, OfAnEarlierBuildAreTheSameBytes) {
  std::ifstream file(std::string(RUNNEL_SOURCE_DIR) + "/test/golden/runner/frames-v2.hex");
  ASSERT_EQ(kRunnerProtocolVersion, 2U) << "a new version needs frames of its own";
  for (const Message& message : one_of_each()) {
    std::string frame;
    encode_frame(message, frame);
    std::string line;
    ASSERT_TRUE(std::getline(file, line));
    EXPECT_EQ(output::testing::hex_of(frame), line) << message.index();
  }
}

TEST(RunnerMessage, AMomentBeforeTheEpochArrivesAsTheEpoch) {
  RankFact fact = ended_fact();
  fact.report.started_at = Time::from_millis(-1'000'000);
  fact.report.ended_at = Time::from_millis(-1);
  std::string frame;
  encode_frame(Facts{FactsKind::kNews, {fact}}, frame);
  const Message back = MUST(decode_frame(frame));
  const model::RankReport& report = std::get<Facts>(back).ranks.at(0).report;
  EXPECT_EQ(report.started_at, Time());
  EXPECT_EQ(report.ended_at, Time());
}

TEST(RunnerMessage, FramesFollowEachOtherInOneBuffer) {
  std::string buffer;
  for (const Message& message : one_of_each()) encode_frame(message, buffer);
  std::size_t count = 0;
  std::string_view rest = buffer;
  while (!rest.empty()) {
    const std::size_t size = MUST(frame_size(rest));
    ASSERT_GT(size, 0U);
    rest.remove_prefix(size);
    ++count;
  }
  EXPECT_EQ(count, one_of_each().size());
}

TEST(RunnerMessage, APartOfAFrameIsNoFrame) {
  std::string frame;
  encode_frame(StartBatch{{full_place()}}, frame);
  for (std::size_t size = 0; size < frame.size(); ++size) {
    EXPECT_EQ(MUST(frame_size(std::string_view(frame).substr(0, size))), 0U);
  }
}

TEST(RunnerMessage, RefusesLengthsOutOfBounds) {
  EXPECT_FALSE(frame_size(std::string("\xff\xff\xff\xff", 4)).ok());
  EXPECT_FALSE(frame_size(std::string("\0\0\0\0", 4)).ok());
}

TEST(RunnerMessage, ABodyCutShortOrWithMoreIsRefused) {
  for (const Message& message : one_of_each()) {
    std::string frame;
    encode_frame(message, frame);
    const std::string body = frame.substr(kFrameHeaderBytes);
    for (std::size_t size = 0; size < body.size(); ++size) {
      const Result<Message> cut = decode_body(std::string_view(body).substr(0, size));
      ASSERT_FALSE(cut.ok()) << message.index() << " at " << size;
      EXPECT_EQ(cut.error().code, Errc::kCorrupt);
    }
    EXPECT_FALSE(decode_body(body + "x").ok());
  }
}

TEST(RunnerMessage, AnyBytesAreAMessageOrAnError) {
  std::mt19937 random(11);
  for (const Message& message : one_of_each()) {
    std::string frame;
    encode_frame(message, frame);
    const std::string body = frame.substr(kFrameHeaderBytes);
    for (int round = 0; round < 2'000; ++round) {
      std::string damaged = body;
      for (int i = 0; i < 3; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
      const Result<Message> read = decode_body(damaged);
      if (!read.ok()) continue;
      std::string again;
      encode_frame(*read, again);
      EXPECT_TRUE(MUST(decode_frame(again)) == *read);
    }
  }
}

TEST(RunnerMessage, WhatAFrameTellsCanBeStored) {
  const auto told = [](const auto& change) {
    RankFact fact = ended_fact();
    change(fact.report);
    std::string frame;
    encode_frame(Facts{FactsKind::kNews, {fact}}, frame);
    return decode_frame(frame);
  };
  using model::RankReport;
  const Result<Message> fine = told([](RankReport&) {});
  ASSERT_TRUE(fine.ok());
  model::NodeReport report;
  report.node = NodeId("n1");
  report.ranks.push_back(std::get<Facts>(*fine).ranks.front().report);
  EXPECT_FALSE(model::encode_text(model::Input(report)).empty());
  EXPECT_FALSE(told([](RankReport& of) { of.rank = -1; }).ok());
  EXPECT_FALSE(told([](RankReport& of) { of.attempt.task.step = StepIndex(-1); }).ok());
  EXPECT_FALSE(told([](RankReport& of) { of.attempt.task.index = TaskIndex(-1); }).ok());
  EXPECT_FALSE(told([](RankReport& of) { of.attempt.attempt = AttemptNumber(-1); }).ok());
}

TEST(RunnerMessage, AnIdOfAJobThatDoesNotFitIsRefused) {
  for (const std::size_t bytes : {16U, 17U, 300U}) {
    std::string frame;
    Encoder out(frame);
    out.text(std::string(bytes, 'j')).integer(0).integer(0).integer(1);
    Decoder in(frame);
    (void)decode_attempt(in);
    EXPECT_EQ(in.failed(), bytes > JobId::kBytesMax) << bytes;
  }
}

TEST(RunnerMessage, NothingLeavesTheHome) {
  const auto refused = [](PlaceStart place) {
    std::string frame;
    encode_frame(StartBatch{{std::move(place)}}, frame);
    return !decode_frame(frame).ok();
  };
  const auto with_job = [&](const std::string& job) {
    PlaceStart place = full_place();
    place.attempt.task.job = JobId(job);
    return refused(place);
  };
  const auto with_checkpoint = [&](const std::string& dir) {
    PlaceStart place = full_place();
    place.checkpoint_dir = dir;
    return refused(place);
  };
  for (const char* job : {"", ".", "..", "../x", "a/b"}) EXPECT_TRUE(with_job(job)) << job;
  for (const char* dir : {"", "/", "/etc", "..", "a/../..", "a//b", "a/", "."}) {
    EXPECT_TRUE(with_checkpoint(dir)) << dir;
  }
  EXPECT_FALSE(with_job("job"));
  EXPECT_FALSE(with_checkpoint("a/b"));
  std::string frame;
  encode_frame(RemoveJob{JobId("../../etc")}, frame);
  EXPECT_FALSE(decode_frame(frame).ok());
}

TEST(RunnerMessage, AStartNeedsACommandAndARank) {
  for (int what = 0; what < 3; ++what) {
    PlaceStart place = full_place();
    if (what == 0) place.argv.clear();
    if (what == 1) place.rank_env.clear();
    if (what == 2) place.argv[1] = std::string("a\0b", 3);
    std::string frame;
    encode_frame(StartBatch{{place}}, frame);
    EXPECT_FALSE(decode_frame(frame).ok()) << what;
  }
}

}  // namespace
}  // namespace runnel::runner
