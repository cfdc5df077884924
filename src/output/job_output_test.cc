#include "output/job_output.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "env/testing/temporary_directory.h"
#include "output/paths.h"
#include "output/testing/attempts.h"

namespace runnel::output {
namespace {

using SlotUse = JobOutput::SlotUse;
using env::testing::TemporaryDirectory;
using testing::attempt_of;
using testing::read_text;

constexpr auto kHead = static_cast<std::int64_t>(kSharedHead.size());

class OutputTest : public ::testing::Test {
 protected:
  JobOutput open() { return MUST(JobOutput::open(home_.path(), JobId("job"))); }
  std::string logs() const { return logs_folder(home_.path(), JobId("job")); }
  static void write(JobOutput& output, const RankOutput& rank, model::LogStream stream,
                    const std::string& text) {
    ASSERT_EQ(::write(output.descriptor(rank, stream), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
  }
  std::string text(std::uint32_t slot, model::LogStream stream) const {
    return read_text(segment_path(logs(), slot, 0, stream));
  }
  std::vector<IndexRecord> index() const {
    const std::string text = read_text(index_path(logs()));
    std::vector<IndexRecord> records;
    for (std::size_t at = 0; at + kIndexRecordBytes <= text.size(); at += kIndexRecordBytes) {
      const auto record = parse_record(std::string_view(text).substr(at));
      EXPECT_TRUE(record.has_value()) << at;
      if (record) records.push_back(*record);
    }
    return records;
  }

  TemporaryDirectory home_;
};

TEST_F(OutputTest, AttemptsOfASlotFollowEachOtherInItsFiles) {
  JobOutput output = open();
  const std::uint32_t slot = output.take_slot(SlotUse::kShared);
  for (int task = 0; task < 3; ++task) {
    RankOutput rank = MUST(output.begin(slot, 0, attempt_of(task), Time::from_millis(task)));
    write(output, rank, model::LogStream::kOut, "out " + std::to_string(task) + "\n");
    if (task == 1) write(output, rank, model::LogStream::kErr, "err\n");
    output.end(rank, Bytes::gibi(1), Time::from_millis(task + 10));
  }
  ASSERT_TRUE(output.flush().ok());
  EXPECT_EQ(text(0, model::LogStream::kOut), std::string(kSharedHead) + "out 0\nout 1\nout 2\n");
  const std::vector<IndexRecord> records = index();
  ASSERT_EQ(records.size(), 6U);
  EXPECT_EQ(records[2].kind, IndexRecord::Kind::kStart);
  EXPECT_EQ(records[2].offset[0], kHead + 6);
  EXPECT_EQ(records[3].kind, IndexRecord::Kind::kEnd);
  EXPECT_EQ(records[3].offset[0], kHead + 12);
  EXPECT_EQ(records[3].offset[1], kHead + 4);
  EXPECT_EQ(records[3].time, 11);
  EXPECT_EQ(records[4].offset[1], kHead + 4);
}

TEST_F(OutputTest, NoticesThatItsFolderIsAnother) {
  JobOutput output = open();
  EXPECT_TRUE(output.is_in_place());
  std::filesystem::remove_all(logs());
  EXPECT_FALSE(output.is_in_place());
  const JobOutput anew = open();
  EXPECT_TRUE(anew.is_in_place());
  EXPECT_FALSE(output.is_in_place());
}

TEST_F(OutputTest, SlotsAreReusedLowestFirst) {
  JobOutput output = open();
  EXPECT_EQ(output.take_slot(SlotUse::kShared), 0U);
  EXPECT_EQ(output.take_slot(SlotUse::kShared), 1U);
  EXPECT_EQ(output.take_slot(SlotUse::kShared), 2U);
  output.give_slot(2, JobOutput::SlotState::kClean);
  output.give_slot(0, JobOutput::SlotState::kClean);
  EXPECT_EQ(output.take_slot(SlotUse::kShared), 0U);
  output.give_slot(1, JobOutput::SlotState::kUnusable);
  EXPECT_EQ(output.take_slot(SlotUse::kShared), 2U);
  EXPECT_EQ(output.take_slot(SlotUse::kShared), 3U) << "an unusable slot never comes back";
}

TEST_F(OutputTest, ANewRunnerTakesNewSlots) {
  {
    JobOutput output = open();
    for (int i = 0; i < 3; ++i) {
      MUST(output.begin(output.take_slot(SlotUse::kShared), 0, attempt_of(i), Time()));
    }
  }
  EXPECT_EQ(open().take_slot(SlotUse::kShared), 3U);
}

TEST_F(OutputTest, ATornIndexIsMadeWhole) {
  {
    JobOutput output = open();
    RankOutput rank =
        MUST(output.begin(output.take_slot(SlotUse::kShared), 0, attempt_of(0), Time()));
    output.end(rank, Bytes(), Time());
    ASSERT_TRUE(output.flush().ok());
  }
  std::filesystem::resize_file(index_path(logs()), kIndexRecordBytes + 17);
  JobOutput output = open();
  output.end_vanished(0, 0, attempt_of(0), Time::from_millis(5));
  ASSERT_TRUE(output.flush().ok());
  const std::vector<IndexRecord> records = index();
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[1].kind, IndexRecord::Kind::kEnd);
  EXPECT_EQ(records[1].time, 5);
}

TEST_F(OutputTest, TheMiddleIsDroppedAndTheRestStays) {
  JobOutput output = open();
  RankOutput rank =
      MUST(output.begin(output.take_slot(SlotUse::kShared), 0, attempt_of(0), Time()));
  const Bytes max_log = Bytes::kibi(64);
  // Three times the limit on one stream, a little on the other.
  const std::string line(1023, 'a');
  for (int i = 0; i < 192; ++i) write(output, rank, model::LogStream::kOut, line + "\n");
  write(output, rank, model::LogStream::kErr, std::string(4096, 'e'));
  output.trim(rank, max_log);
  EXPECT_GT(rank.gap_end[0], rank.gap_begin[0]);
  const std::int64_t first_gap = rank.gap_end[0];
  for (int i = 0; i < 192; ++i) write(output, rank, model::LogStream::kOut, line + "\n");
  output.end(rank, max_log, Time());
  ASSERT_TRUE(output.flush().ok());
  EXPECT_GT(rank.gap_end[0], first_gap);
  const std::int64_t kept = 384 * 1024 - (rank.gap_end[0] - rank.gap_begin[0]) + 4096;
  EXPECT_LE(kept, max_log.count());
  EXPECT_GE(kept, max_log.count() / 2);
  EXPECT_EQ(rank.gap_end[1], rank.gap_begin[1]) << "the small stream is whole";
  const std::string left = text(0, model::LogStream::kOut);
  EXPECT_EQ(left.size(), kSharedHead.size() + 384U * 1024) << "offsets do not change";
  EXPECT_EQ(left.find('\0'), static_cast<std::size_t>(rank.gap_begin[0]));
  EXPECT_EQ(left.rfind('\0') + 1, static_cast<std::size_t>(rank.gap_end[0]));
  const IndexRecord last = index().back();
  EXPECT_EQ(last.kind, IndexRecord::Kind::kEnd);
  EXPECT_EQ(last.gap_begin[0], rank.gap_begin[0]);
  EXPECT_EQ(last.gap_end[0], rank.gap_end[0]);
}

TEST_F(OutputTest, AnAttemptAloneHasFilesOfItsOwn) {
  JobOutput output = open();
  const std::uint32_t slot = output.take_slot(SlotUse::kAlone);
  EXPECT_EQ(slot, kAloneSlots);
  RankOutput rank = MUST(output.begin(slot, 0, attempt_of(0), Time()));
  EXPECT_EQ(rank.begin[0], 0);
  write(output, rank, model::LogStream::kOut, "long gone");
  std::filesystem::resize_file(segment_path(logs(), slot, 0, model::LogStream::kOut), 0);
  write(output, rank, model::LogStream::kOut, "left");
  output.end(rank, Bytes::gibi(1), Time());
  output.give_slot(slot, JobOutput::SlotState::kClean);
  ASSERT_TRUE(output.flush().ok());
  EXPECT_EQ(text(slot, model::LogStream::kOut), "left");
  EXPECT_EQ(index().back().offset[0], 4);
  EXPECT_EQ(output.take_slot(SlotUse::kAlone), kAloneSlots + 1) << "it is nobody else's, ever";
  EXPECT_EQ(output.take_slot(SlotUse::kShared), 0U);
}

TEST_F(OutputTest, ASharedFileThatWasEmptiedBecomesItsAttempts) {
  JobOutput output = open();
  const std::uint32_t slot = output.take_slot(SlotUse::kShared);
  RankOutput first = MUST(output.begin(slot, 0, attempt_of(0), Time()));
  write(output, first, model::LogStream::kErr, "first\n");
  output.end(first, Bytes::gibi(1), Time());
  RankOutput rank = MUST(output.begin(slot, 0, attempt_of(1), Time()));
  std::filesystem::resize_file(segment_path(logs(), slot, 0, model::LogStream::kErr), 0);
  write(output, rank, model::LogStream::kOut, "out\n");
  // More than was there, so that the size alone tells nothing.
  const std::string more(500, 'x');
  write(output, rank, model::LogStream::kErr, more);
  output.end(rank, Bytes::gibi(1), Time());
  output.give_slot(slot, JobOutput::SlotState::kClean);
  ASSERT_TRUE(output.flush().ok());
  EXPECT_EQ(text(slot, model::LogStream::kErr), "") << "nobody is credited with it";
  EXPECT_EQ(text(kAloneSlots, model::LogStream::kErr), more);
  const std::vector<IndexRecord> records = index();
  ASSERT_EQ(records.size(), 6U);
  EXPECT_EQ(records[3].slot, slot);
  EXPECT_EQ(records[3].offset[0], kHead + 4) << "the other stream is as it was";
  EXPECT_EQ(records[3].offset[1], records[2].offset[1]);
  EXPECT_EQ(records[4].kind, IndexRecord::Kind::kStart);
  EXPECT_EQ(records[4].task, 1);
  EXPECT_EQ(records[5].slot, kAloneSlots);
  EXPECT_EQ(records[5].offset[1], 500);
  EXPECT_EQ(output.take_slot(SlotUse::kShared), kAloneSlots + 1) << "this job's share no more";
}

TEST_F(OutputTest, ADeadRunnersAttemptMayHaveEmptiedItsFileToo) {
  {
    JobOutput output = open();
    MUST(output.begin(output.take_slot(SlotUse::kShared), 0, attempt_of(0), Time()));
    MUST(output.begin(output.take_slot(SlotUse::kAlone), 0, attempt_of(1), Time()));
    ASSERT_TRUE(output.flush().ok());
  }
  std::ofstream(segment_path(logs(), 0, 0, model::LogStream::kOut)) << "only this";
  JobOutput output = open();
  output.end_vanished(0, 0, attempt_of(0), Time());
  output.end_vanished(kAloneSlots, 0, attempt_of(1), Time());
  ASSERT_TRUE(output.flush().ok());
  EXPECT_EQ(text(kAloneSlots + 1, model::LogStream::kOut), "only this");
  EXPECT_EQ(index().size(), 6U) << "the one alone needs no new place";
}

TEST_F(OutputTest, AGapIsForgottenWithTheOutputAroundIt) {
  JobOutput output = open();
  const std::uint32_t slot = output.take_slot(SlotUse::kAlone);
  RankOutput rank = MUST(output.begin(slot, 0, attempt_of(0), Time()));
  write(output, rank, model::LogStream::kOut, std::string(300'000, 'a'));
  output.trim(rank, Bytes::kibi(64));
  ASSERT_GT(rank.gap_end[0], 0);
  std::filesystem::resize_file(segment_path(logs(), slot, 0, model::LogStream::kOut), 0);
  write(output, rank, model::LogStream::kOut, "left");
  output.end(rank, Bytes::kibi(64), Time());
  EXPECT_EQ(rank.gap_end[0], 0);
  ASSERT_TRUE(output.flush().ok());
  EXPECT_EQ(index()[2].kind, IndexRecord::Kind::kGap);
  EXPECT_EQ(index()[2].gap_end[0], 0);
}

TEST_F(OutputTest, UnderTheLimitNothingIsDropped) {
  JobOutput output = open();
  RankOutput rank =
      MUST(output.begin(output.take_slot(SlotUse::kShared), 0, attempt_of(0), Time()));
  write(output, rank, model::LogStream::kOut, std::string(60'000, 'a'));
  write(output, rank, model::LogStream::kErr, std::string(5'536, 'a'));
  output.end(rank, Bytes::kibi(64), Time());
  EXPECT_EQ(rank.gap_end[0], 0);
  EXPECT_EQ(rank.gap_end[1], 0);
}

TEST_F(OutputTest, ALimitCountsFromTheAttemptsOwnBeginning) {
  JobOutput output = open();
  const std::uint32_t slot = output.take_slot(SlotUse::kShared);
  for (int task = 0; task < 4; ++task) {
    RankOutput rank = MUST(output.begin(slot, 0, attempt_of(task), Time()));
    write(output, rank, model::LogStream::kOut, std::string(50'000, 'a'));
    output.end(rank, Bytes::kibi(64), Time());
    EXPECT_EQ(rank.gap_end[0], 0) << task;
  }
}

}  // namespace
}  // namespace runnel::output
