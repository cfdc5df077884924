#include "writing/write_log.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "async/gate.h"
#include "async/together.h"
#include "base/split_mix.h"
#include "writing/testing/log_disk.h"
#include "writing/testing/random_record.h"

namespace runnel::writing {
namespace {

// The least that a log takes.
constexpr Bytes kSegment = Bytes::count(kSegmentHeaderBytes + (1 << 20) + 64);

class WriteLogTest : public ::testing::Test {
 protected:
  ~WriteLogTest() override { close(); }

  Result<WriteLog::Opened> try_open(const std::string& branch = "main") {
    close();
    there_.clear();
    disk_.set_writes_at_once(dice_.next() % 2 == 0);
    const auto visit = [this](const LoggedRecord& logged) -> Result<void> {
      there_.push_back(logged);
      return {};
    };
    return loop_->block_on(
        WriteLog::open(*loop_, disk_.open(), {"uuid", branch}, dice_.next(), visit, kSegment));
  }
  std::vector<Record> open() {
    WriteLog::Opened opened = MUST(try_open());
    log_ = std::move(opened.log);
    lost_ = opened.lost;
    std::vector<Record> records;
    for (const LoggedRecord& logged : there_) records.push_back(logged.record);
    return records;
  }
  void close() {
    if (log_) MUST(loop_->block_on(log_->stop()));
    log_.reset();
  }
  Error refusal() {
    Result<WriteLog::Opened> opened = try_open();
    EXPECT_FALSE(opened.ok());
    if (!opened.ok()) return opened.error();
    log_ = std::move(opened->log);
    return {Errc::kInternal, "it was opened"};
  }
  Record some() { return testing::random_record(dice_); }
  static Record long_one(char byte) { return {{}, Write{7, 0, {}, std::string(20'000, byte)}}; }
  Sequence append(Record record) {
    all_.push_back(std::move(record));
    return MUST(log_->append(all_.back())).sequence;
  }
  Sequence append() { return append(some()); }
  Async<void> append_and_wait() {
    const Sequence sequence = append();
    co_return co_await log_->durable(sequence);
  }
  // More than two segments.
  Result<void> try_room(WriteLog::Purpose purpose) {
    return loop_->block_on(log_->room_for(1'000, purpose));
  }
  // Whether written() returns before anything else has its turn.
  Async<void> wait_and_look(Sequence sequence, bool& has_returned) {
    has_returned = false;
    async::Gate waiting(*loop_);
    CO_TRY(loop_->spawn(waiting, note_return(sequence, has_returned)));
    CO_TRY(co_await loop_->yield());
    const bool was_at_once = has_returned;
    CO_TRY(co_await waiting.close());
    has_returned = was_at_once;
    co_return {};
  }
  Async<void> note_return(Sequence sequence, bool& has_returned) {
    CO_TRY(co_await log_->written(sequence));
    has_returned = true;
    co_return {};
  }
  void append_many() {
    for (int count = 0; count < 130; ++count) append(long_one(static_cast<char>('a' + count % 26)));
  }
  Result<void> try_durable(Sequence sequence) { return loop_->block_on(log_->durable(sequence)); }
  void expect_written(Sequence sequence) { MUST(loop_->block_on(log_->written(sequence))); }
  void expect_durable(Sequence sequence) { MUST(try_durable(sequence)); }
  Result<void> begin_anew(const std::vector<Record>& checkpoint) {
    return loop_->block_on(log_->begin_anew([&checkpoint] { return checkpoint; }, pass_));
  }
  static std::vector<Record> first(const std::vector<Record>& records, std::size_t count) {
    CHECK(count <= records.size(), "there are more than were ever written");
    return {records.begin(), records.begin() + static_cast<std::ptrdiff_t>(count)};
  }
  std::size_t place_of(std::size_t record) const {
    std::size_t place = kSegmentHeaderBytes;
    for (const Record& each : first(all_, record)) place += frame_bytes(encode_record(each).size());
    return place;
  }

  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  testing::LogDisk disk_;
  SplitMix64 dice_{11};
  std::unique_ptr<WriteLog> log_;
  std::vector<Record> all_;
  std::size_t lost_ = 0;
  std::vector<LoggedRecord> there_;  // What was read when it was opened.
  RecordVisitor pass_ = [](const LoggedRecord&) { return Result<void>(); };
};

TEST_F(WriteLogTest, WhatIsWrittenIsThereAfterAKill) {
  EXPECT_TRUE(open().empty());
  append_many();
  expect_written(log_->last());
  EXPECT_GE(disk_.numbers().size(), 3U);
  MUST(log_->append(some()));  // Never given to the kernel.
  EXPECT_EQ(open(), all_);
  append();
  expect_written(log_->last());
  EXPECT_EQ(open(), all_);
}

TEST_F(WriteLogTest, AllWhoWaitShareASync) {
  open();
  std::vector<Async<void>> waiting;
  for (int count = 0; count < 50; ++count) waiting.push_back(log_->durable(append()));
  MUST(loop_->block_on(async::when_all(*loop_, std::move(waiting))));
  EXPECT_LE(disk_.syncs(), 3);
  EXPECT_EQ(log_->durable_until(), 50U);
}

// The sectors of what was not synced come to the disk in any order, or not.
TEST_F(WriteLogTest, APowerLossTakesNothingThatWasDurable) {
  std::size_t lost = 0;
  std::size_t cuts_in_the_midst = 0;
  open();
  for (int round = 0; round < 150; ++round) {
    std::size_t durable = all_.size();
    std::size_t written = durable;
    for (std::uint64_t count = dice_.next() % 30; count > 0; --count) {
      const Sequence sequence = append();
      if (dice_.next() % 3 == 0) {
        expect_written(sequence);
        written = all_.size();
      }
      if (dice_.next() % 8 == 0) {
        expect_durable(sequence);
        durable = written = all_.size();
      }
    }
    close();
    disk_.cut_power(dice_);
    const std::vector<Record> there = open();
    ASSERT_LE(there.size(), written) << round;
    ASSERT_EQ(there, first(all_, there.size())) << round;
    ASSERT_GE(there.size(), durable) << round;
    cuts_in_the_midst += there.size() > durable && there.size() < written ? 1 : 0;
    lost += lost_;
    all_ = there;
    if (dice_.next() % 20 == 0) {
      all_ = first(all_, std::min<std::size_t>(all_.size(), 20));
      MUST(begin_anew(all_));
    }
  }
  EXPECT_GT(cuts_in_the_midst, 10U);
  EXPECT_GT(lost, 10U) << "whole records behind torn ones";
}

// Who opens a log reads what the kernel has, and a power loss comes later.
TEST_F(WriteLogTest, WhatAnEarlierLifeHasWrittenIsDurableOnceItIsOpened) {
  for (const bool has_failed : {false, true}) {
    disk_ = {};
    all_.clear();
    open();
    for (int count = 0; count < 30; ++count) append();
    if (has_failed) {
      disk_.fail_next_sync();
      EXPECT_FALSE(try_durable(log_->last()).ok());
    } else {
      expect_written(log_->last());
    }
    EXPECT_EQ(open(), all_);
    expect_durable(append());
    close();
    disk_.cut_power(dice_);
    EXPECT_EQ(open(), all_);
  }
}

TEST_F(WriteLogTest, CutAnywhereItHasAllRecordsBefore) {
  open();
  for (int count = 0; count < 20; ++count) append();
  expect_durable(log_->last());
  close();
  const std::string whole = disk_.bytes_of(1);
  const std::size_t end = place_of(all_.size());
  std::size_t most = 0;
  for (std::size_t at = kSegmentHeaderBytes; at < end; at += 97) {
    disk_.bytes_of(1) = whole.substr(0, at) + std::string(whole.size() - at, '\0');
    const std::vector<Record> there = open();
    ASSERT_EQ(there, first(all_, there.size())) << at;
    ASSERT_GE(there.size(), most) << at;
    ASSERT_LE(place_of(there.size()), at + kFrameAlign) << at;
    most = there.size();
  }
  EXPECT_GE(most, 18U);
}

TEST_F(WriteLogTest, DamageOfWhatHadReachedTheDiskIsNamedAndNothingIsChanged) {
  open();
  for (int count = 0; count < 5; ++count) append();
  expect_durable(log_->last());
  expect_written(append());
  close();
  char& byte = disk_.bytes_of(1)[place_of(1) + kFrameHeadBytes];
  byte ^= 1;
  const std::string before = disk_.bytes_of(1);
  const Error error = refusal();
  EXPECT_EQ(error.code, Errc::kCorrupt);
  EXPECT_EQ(error.message, "segment 1 of a log lacks record 2, which was on the disk");
  EXPECT_EQ(disk_.bytes_of(1), before);
  disk_.bytes_of(1)[place_of(1) + kFrameHeadBytes] ^= 1;
  EXPECT_EQ(open(), all_);
}

TEST_F(WriteLogTest, DamageWhereAnotherSegmentFollowsIsNamed) {
  open();
  append_many();
  expect_written(log_->last());
  close();
  disk_.bytes_of(1)[place_of(20) + kFrameHeadBytes] ^= 1;
  EXPECT_EQ(refusal().message, "segment 1 of a log lacks record 21, which was on the disk");
}

// Its records and what came behind them are what the log is, also where the segments before it
// could not be removed.
TEST_F(WriteLogTest, DamageInACheckpointIsNoneThatWasCutShort) {
  open();
  append();
  expect_durable(log_->last());
  std::vector<Record> checkpoint;
  for (int count = 0; count < 4; ++count) checkpoint.push_back(some());
  const testing::LogDisk before = disk_;
  MUST(begin_anew(checkpoint));
  expect_durable(append());
  expect_written(append());
  close();
  disk_.keep(before, 1);
  disk_.bytes_of(2)[kSegmentHeaderBytes + kFrameHeadBytes] ^= 1;
  EXPECT_EQ(refusal().code, Errc::kCorrupt);
  EXPECT_EQ(disk_.numbers(), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(WriteLogTest, AfterAFailureNothingIsCalledSafeUntilItBeginsAnew) {
  for (const bool is_write : {false, true}) {
    disk_ = {};
    open();
    expect_durable(append());
    const Sequence second = append();
    is_write ? disk_.fail_next_write() : disk_.fail_next_sync();
    EXPECT_EQ(try_durable(second).error().code, Errc::kIo);
    EXPECT_EQ(try_durable(second).error().code, Errc::kIo) << "no second try";
    EXPECT_EQ(log_->append(some()).error().code, Errc::kIo);
    const std::vector<Record> now{some(), some()};
    MUST(begin_anew(now));
    expect_durable(second);
    const Record later = some();
    expect_durable(MUST(log_->append(later)).sequence);
    close();
    disk_.cut_power(dice_);
    EXPECT_EQ(open(), (std::vector<Record>{now[0], now[1], later}));
    EXPECT_EQ(disk_.numbers().size(), 1U);
  }
}

// Also when the power goes after the kill, and when whoever opens the log is killed, too.
TEST_F(WriteLogTest, ACheckpointIsWholeOrNone) {
  std::vector<Record> checkpoint;
  for (int count = 0; count < 70; ++count) checkpoint.push_back(long_one('z'));
  checkpoint.push_back(some());
  std::int64_t changes = 0;
  for (bool is_done = false; !is_done; changes += 1 + changes / 8) {
    disk_ = {};
    all_.clear();
    open();
    for (int count = 0; count < 100; ++count) append();
    expect_durable(log_->last());
    disk_.kill_after(changes);
    is_done = begin_anew(checkpoint).ok();
    if (dice_.next() % 2 == 0) {
      close();
      disk_.cut_power(dice_);
    }
    for (const bool is_killed : {true, false}) {
      close();
      auto files = disk_.open();
      if (is_killed) disk_.kill_after(static_cast<std::int64_t>(dice_.next() % 200));
      (void)replay(*files, {"uuid", "main"}, pass_);
      if (is_killed && dice_.next() % 2 == 0) disk_.cut_power(dice_);
    }
    std::vector<Record> there = open();
    EXPECT_TRUE(there == checkpoint || (!is_done && there == all_)) << changes;
    there.push_back(some());
    expect_durable(MUST(log_->append(there.back())).sequence);
    close();
    disk_.cut_power(dice_);
    EXPECT_EQ(open(), there) << changes;
  }
  EXPECT_GT(changes, 2'000);
}

// What is appended meanwhile is in the checkpoint or behind it.
// Two tries whose writes fail leave segments that name the one before, which is retired first.
TEST_F(WriteLogTest, KilledAtAnyChangeOfACheckpointAfterOthersThatFailedItIsRead) {
  const std::vector<Record> checkpoint{long_one('c')};
  int killed = 0;
  for (std::int64_t changes = 1;; ++changes) {
    SCOPED_TRACE("killed at change " + std::to_string(changes));
    disk_ = testing::LogDisk();
    all_.clear();
    open();
    append_many();
    expect_durable(log_->last());
    disk_.fail_next_write();
    EXPECT_EQ(begin_anew(checkpoint).error().code, Errc::kIo);
    disk_.fail_next_sync();
    EXPECT_EQ(begin_anew(checkpoint).error().code, Errc::kIo);
    disk_.kill_after(changes);
    const bool is_whole = begin_anew(checkpoint).ok();
    const std::vector<Record> there = open();
    EXPECT_TRUE(there == checkpoint || there == all_);
    if (is_whole) break;
    ++killed;
  }
  EXPECT_GT(killed, 5);
}

TEST_F(WriteLogTest, OthersAppendAndWaitWhileItBeginsAnew) {
  open();
  async::Gate gate(*loop_);
  for (int round = 0; round < 20; ++round) {
    for (int each = 0; each < 5; ++each) MUST(loop_->spawn(gate, append_and_wait()));
    MUST(loop_->block_on(log_->begin_anew([this] { return all_; }, pass_)));
  }
  MUST(loop_->block_on(gate.close()));
  EXPECT_EQ(all_.size(), 100U);
  close();
  disk_.cut_power(dice_);
  EXPECT_EQ(open(), all_);
}

TEST_F(WriteLogTest, AFullDiskIsToldBeforeAnythingIsPromised) {
  open();
  for (int count = 0; count < 3; ++count) append();
  disk_.set_full(true);
  EXPECT_EQ(begin_anew({some()}).error().code, Errc::kFull);
  expect_durable(log_->last());
  const Sequence there = log_->last();
  append_many();
  EXPECT_EQ(try_durable(log_->last()).error().code, Errc::kFull);
  expect_durable(there);
  disk_.set_full(false);
  const std::vector<Record> now{some()};
  MUST(begin_anew(now));
  EXPECT_EQ(open(), now);
}

TEST_F(WriteLogTest, BytesOfSeveralRecordsComeInTheirOrder) {
  open();
  std::vector<DataRange> ranges;
  std::vector<std::string> expected;
  const auto write = [&](char byte) {
    const std::string bytes(5'000, byte);
    DataPlace place = MUST(log_->append({{}, Write{7, 0, {}, bytes}})).end;
    place.offset -= bytes.size();
    ranges.push_back({place, bytes.size()});
    expected.push_back(bytes);
  };
  for (const char byte : {'a', 'b', 'c'}) write(byte);
  expect_durable(log_->last());
  for (const char byte : {'d', 'e'}) write(byte);  // These are in memory.
  std::swap(ranges[0], ranges[4]);
  std::swap(expected[0], expected[4]);
  EXPECT_EQ(MUST(loop_->block_on(log_->read_all(ranges))), expected);
  EXPECT_TRUE(MUST(loop_->block_on(log_->read_all({}))).empty());
  expect_durable(log_->last());
}

// No other thread is waited for, but where the disk or much is.
TEST_F(WriteLogTest, AShortWriteIsMadeInTheTurnInWhichItIsWaitedFor) {
  open();
  disk_.set_writes_at_once(true);
  append();
  bool has_returned = false;
  MUST(loop_->block_on(wait_and_look(log_->last(), has_returned)));
  EXPECT_TRUE(has_returned);
  disk_.set_writes_at_once(false);
  append();
  MUST(loop_->block_on(wait_and_look(log_->last(), has_returned)));
  EXPECT_FALSE(has_returned) << "the thread has still to do it";
  expect_durable(log_->last());
  EXPECT_EQ(open(), all_);
}

TEST_F(WriteLogTest, AWriteThatFailsAtOnceIsToldAsAnyOther) {
  open();
  expect_durable(append());
  disk_.set_writes_at_once(true);
  disk_.fail_next_write();
  append();
  EXPECT_EQ(loop_->block_on(log_->written(log_->last())).error().code, Errc::kIo);
  EXPECT_TRUE(log_->has_failed());
  EXPECT_EQ(log_->append(some()).error().code, Errc::kIo);
  const std::vector<Record> now{some()};
  MUST(begin_anew(now));
  EXPECT_FALSE(log_->has_failed());
  EXPECT_EQ(open(), now);
}

// Whoever asks first has not changed anything yet.
TEST_F(WriteLogTest, WhoAsksForRoomIsToldBeforeTheChange) {
  open();
  disk_.set_full(true);
  const auto room = [this] {
    return loop_->block_on(log_->room_for(20'000, WriteLog::Purpose::kGrowth));
  };
  Result<void> there = room();
  for (int count = 0; count < 1'000 && there.ok(); ++count) {
    append(long_one('a'));
    there = room();
  }
  ASSERT_FALSE(there.ok());
  EXPECT_EQ(there.error().code, Errc::kFull);
  expect_durable(log_->last());
  disk_.set_full(false);
  MUST(room());
  disk_.set_full(true);
  for (int count = 0; count < 60; ++count) append(long_one('b'));
  expect_durable(log_->last());
  disk_.set_full(false);
  EXPECT_EQ(open(), all_);
}

// What is removed makes room.
TEST_F(WriteLogTest, OnAFullDiskTheRestOfASegmentIsForRemovals) {
  open();
  disk_.set_full(true);
  EXPECT_EQ(try_room(WriteLog::Purpose::kGrowth).error().code, Errc::kFull);
  EXPECT_TRUE(log_->is_short_of_room());
  int removals = 0;
  for (; removals < 1'000 && try_room(WriteLog::Purpose::kRemoval).ok(); ++removals) append();
  EXPECT_EQ(removals, 1'000);
  expect_durable(log_->last());
  disk_.set_full(false);
  MUST(try_room(WriteLog::Purpose::kGrowth));
  EXPECT_FALSE(log_->is_short_of_room());
  EXPECT_EQ(open(), all_);
}

// Else each byte of a file that is written in one piece would be written twice.
TEST_F(WriteLogTest, TheRoomOfASegmentIsWrittenWhereSyncsComeAndElsePromised) {
  open();
  const auto fill_one = [this] {
    for (const std::size_t before = disk_.numbers().size(); disk_.numbers().size() == before;) {
      MUST(loop_->block_on(log_->room_for(20'000, WriteLog::Purpose::kGrowth)));
      expect_written(append(long_one('a')));
    }
  };
  for (const bool syncs : {false, true, false}) {
    if (syncs) expect_durable(log_->last());
    fill_one();
    EXPECT_EQ(disk_.room_of_last(), syncs ? LogFiles::Room::kWritten : LogFiles::Room::kPromised);
  }
  MUST(begin_anew({}));
  all_.clear();
  fill_one();
  EXPECT_EQ(disk_.room_of_last(), LogFiles::Room::kPromised) << "its own sync is nobody's";
}

TEST_F(WriteLogTest, ADiskWithLittleRoomHasShorterSegments) {
  close();
  const auto pass = [](const LoggedRecord&) { return Result<void>(); };
  log_ = MUST(loop_->block_on(
                  WriteLog::open(*loop_, disk_.open(), {"uuid", "main"}, 7, pass, Bytes::mebi(16))))
             .log;
  const std::vector<Record> checkpoint{some()};
  disk_.set_room(5 << 20);
  MUST(begin_anew(checkpoint));
  EXPECT_EQ(disk_.bytes_of(disk_.numbers().back()).size(), std::size_t{4} << 20);
  disk_.set_room(3 << 20);
  EXPECT_EQ(begin_anew(checkpoint).error().code, Errc::kFull) << "the least";
  disk_.set_room(100 << 20);
  MUST(begin_anew(checkpoint));
  EXPECT_EQ(disk_.bytes_of(disk_.numbers().back()).size(), std::size_t{16} << 20);
  EXPECT_EQ(open(), checkpoint);
}

TEST_F(WriteLogTest, BytesOfARecordAreReadWhereverTheyAre) {
  open();
  std::vector<std::pair<DataPlace, std::string>> written;
  for (int count = 0; count < 90; ++count) {
    const std::string bytes(20'000, static_cast<char>('a' + count % 26));
    DataPlace place = MUST(log_->append({{}, Write{7, 0, {}, bytes}})).end;
    place.offset -= bytes.size();
    written.emplace_back(place, bytes);
    if (count == 30) expect_durable(log_->last());
    if (count == 70) expect_written(log_->last());
  }
  const auto expect_all = [this, &written] {
    for (const auto& [place, bytes] : written) {
      ASSERT_EQ(MUST(loop_->block_on(log_->read(place, bytes.size()))), bytes);
      DataPlace within = place;
      within.offset += 5;
      ASSERT_EQ(MUST(loop_->block_on(log_->read(within, 10))), bytes.substr(5, 10));
    }
  };
  expect_all();
  expect_durable(log_->last());
  expect_all();
  MUST(begin_anew({some()}));
  expect_all();
  open();
  expect_all();
  MUST(loop_->block_on(log_->remove_unused({written.front().first.file})));
  EXPECT_EQ(disk_.retired(), (std::vector<std::uint64_t>{1}));
  MUST(loop_->block_on(log_->remove_unused({})));
  EXPECT_TRUE(disk_.retired().empty());
}

// Whatever its segment comes to: the kernel takes for written what a failed sync has not.
TEST_F(WriteLogTest, ACheckpointWritesAnewWhatIsNotOnTheDisk) {
  open();
  std::vector<Record> checkpoint;
  std::vector<std::string> bytes;
  const auto write = [this, &checkpoint, &bytes](char byte) {
    bytes.emplace_back(1'000, byte);
    const LoggedRecord logged = MUST(log_->append({{}, Write{7, 0, {}, bytes.back()}}));
    WriteStaged staged{.file = 7, .length = 1'000, .place = logged.end};
    staged.place.offset -= staged.length;
    checkpoint.push_back({{}, staged});
    return logged.sequence;
  };
  expect_durable(write('a'));
  expect_written(write('b'));
  disk_.fail_next_sync();
  EXPECT_FALSE(try_durable(write('c')).ok());
  std::vector<LoggedRecord> made;
  const auto keep = [&made](const LoggedRecord& logged) -> Result<void> {
    made.push_back(logged);
    return {};
  };
  MUST(loop_->block_on(log_->begin_anew([&checkpoint] { return checkpoint; }, keep)));
  close();
  disk_.cut_power(dice_);
  const std::vector<Record> there = open();
  ASSERT_EQ(there.size(), 3U);
  EXPECT_EQ(there[0], checkpoint[0]) << "its place stays";
  EXPECT_EQ(std::get<Write>(there[1].change).bytes, bytes[1]);
  EXPECT_EQ(std::get<Write>(there[2].change).bytes, bytes[2]);
  ASSERT_EQ(made.size(), 3U);
  EXPECT_EQ(made[2].record, there[2]);
  EXPECT_EQ(made[2].end, there_[2].end);
  EXPECT_EQ(made[2].sequence, there_[2].sequence);
}

TEST_F(WriteLogTest, WhatIsHeldIsBoundedBySyncs) {
  open();
  const std::int64_t before = disk_.syncs();
  std::int64_t bytes = 0;
  for (int count = 0; count < 40; ++count) {
    append({{}, Write{7, 0, {}, std::string(1'000'000, 'a')}});
    expect_written(log_->last());
    bytes += 1'000'000;
  }
  EXPECT_GE(disk_.syncs() - before, bytes / WriteLog::kHeldMax.count());
  EXPECT_GT(log_->durable_until(), 20U);
}

TEST_F(WriteLogTest, OneOfAnotherBranchIsRefused) {
  open();
  const auto other = try_open("other");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().code, Errc::kConflict);
  EXPECT_EQ(try_open(std::string(2'000, 'a')).error().code, Errc::kInvalid);
}

TEST_F(WriteLogTest, ASegmentThatIsMissingOrCutIsNamed) {
  open();
  append_many();
  expect_durable(log_->last());
  close();
  const testing::LogDisk whole = disk_;
  disk_.lose(2);
  EXPECT_EQ(refusal().message, "segment 2 of a log is missing");
  disk_ = whole;
  disk_.lose(1);
  EXPECT_EQ(refusal().code, Errc::kCorrupt);
  for (const std::size_t size : {std::size_t{0}, std::size_t{100}, place_of(3) + 1}) {
    disk_ = whole;
    disk_.bytes_of(1).resize(size);
    EXPECT_EQ(refusal().code, Errc::kCorrupt);
  }
  disk_ = whole;
  disk_.bytes_of(1)[20] ^= 1;
  EXPECT_EQ(refusal().message, "segment 1 of a log has a header that is damaged");
}

// Bytes that a program writes may be those of a log, whose nonce it does not know.
TEST_F(WriteLogTest, FramesInARecordAreNone) {
  std::string frames;
  for (Sequence at = 1; at < 50; ++at) append_frame(frames, 12'345, at + 100, at + 99, 0, "text");
  open();
  expect_durable(append());
  append({{}, Write{1, 0, {}, frames}});
  append();
  expect_written(log_->last());
  close();
  disk_.bytes_of(1)[place_of(1) + kFrameHeadBytes] ^= 1;  // It was written in part.
  EXPECT_EQ(open(), first(all_, 1));
  EXPECT_EQ(lost_, 1U);
}

TEST_F(WriteLogTest, ARecordThatNoReaderWouldTakeIsRefusedAndNothingElse) {
  open();
  EXPECT_EQ(log_->append({{}, Write{1, 0, {}, std::string(kRecordBytesMax, 'a')}}).error().code,
            Errc::kInvalid);
  append({{}, Write{1, 0, {}, std::string(kRecordBytesMax - 100, 'a')}});
  append();
  expect_durable(log_->last());
  EXPECT_EQ(open(), all_);
}

}  // namespace
}  // namespace runnel::writing
