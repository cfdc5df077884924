#include "output/log_reader.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <thread>

#include <gtest/gtest.h>

#include "async/unique_fd.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "output/job_output.h"
#include "output/log_audit.h"
#include "output/log_index.h"
#include "output/log_marker.h"
#include "output/paths.h"
#include "output/testing/attempts.h"

namespace runnel::output {
namespace {

using env::testing::TemporaryDirectory;
using testing::attempt_of;

constexpr std::int64_t kNow = 4'000'000'000'000;  // Long after any file of this test was written.

// Writes as a runner and its processes do, reads as control does.
class LogReaderTest : public ::testing::Test {
 protected:
  LogReaderTest()
      : reader_(home_.path()),
        output_(MUST(JobOutput::open(home_.path(), JobId("job")))),
        marker_(logs_folder(home_.path(), JobId("job"))) {
    filter_.job = JobId("job");
  }

  RankOutput begin(std::int64_t task, std::uint32_t slot, std::int32_t rank = 0) {
    RankOutput output =
        MUST(output_.begin(slot, rank, attempt_of(task), Time::from_millis(++time_)));
    MUST(output_.flush());
    return output;
  }
  void write(const RankOutput& rank, model::LogStream stream, const std::string& text) {
    ASSERT_GT(::write(output_.descriptor(rank, stream), text.data(), text.size()), 0);
  }
  // As a process does that opens its output by name.
  void empty(const RankOutput& rank, model::LogStream stream) {
    ASSERT_EQ(::ftruncate(output_.descriptor(rank, stream), 0), 0);
  }
  void end(RankOutput& rank, Bytes max_log = Bytes::gibi(1)) {
    output_.end(rank, max_log, Time::from_millis(++time_));
    MUST(output_.flush());
  }
  void mark() { marker_.look_all(Time::from_millis(++time_)); }

  model::LogPage read(const std::string& cursor = {}, std::int64_t now = kNow) {
    return MUST(reader_.read(filter_, cursor, Time::from_millis(now)));
  }
  // All pages, one text per attempt, rank and stream; `order` is everything as it came.
  std::map<std::string, std::string> read_all(std::string* order = nullptr) {
    std::map<std::string, std::string> texts;
    std::string cursor;
    for (int pages = 0; pages < 10'000; ++pages) {
      const model::LogPage page = read(cursor);
      for (const auto& [source, text] : texts_of(page.pieces)) texts[source] += text;
      for (const model::LogPiece& piece : page.pieces) {
        if (order != nullptr) *order += piece.bytes;
      }
      if (page.pieces.empty()) return texts;
      cursor = page.cursor;
    }
    ADD_FAILURE() << "the reader never comes to an end";
    return texts;
  }

  static std::map<std::string, std::string> texts_of(const std::vector<model::LogPiece>& pieces) {
    std::map<std::string, std::string> texts;
    for (const model::LogPiece& piece : pieces) {
      texts[std::to_string(piece.attempt.task.index.value()) + "/" + std::to_string(piece.rank) +
            (piece.stream == model::LogStream::kOut ? "/out" : "/err")] += piece.bytes;
    }
    return texts;
  }
  std::string damage() {
    std::string text;
    for (const std::string& sentence : read().damage) text += sentence;
    return text;
  }

  TemporaryDirectory home_;
  LogReader reader_;
  JobOutput output_;
  LogMarker marker_;
  model::LogFilter filter_;
  std::int64_t time_ = 1'700'000'000'000;
};

TEST_F(LogReaderTest, AJobWithoutOutputIsEmpty) {
  filter_.job = JobId("other");
  EXPECT_TRUE(read().pieces.empty());
  EXPECT_TRUE(read().cursor.empty());
}

TEST_F(LogReaderTest, TellsAttemptsApart) {
  RankOutput a = begin(1, 0);
  RankOutput b = begin(2, 1);
  write(a, model::LogStream::kOut, "a1\n");
  write(b, model::LogStream::kOut, "b1\n");
  write(b, model::LogStream::kErr, "b2");
  end(b);
  RankOutput c = begin(3, 1);
  write(c, model::LogStream::kOut, "c1\n");
  write(a, model::LogStream::kOut, "a2\n");
  end(a);
  end(c);
  const auto texts = read_all();
  EXPECT_EQ(texts.at("1/0/out"), "a1\na2\n");
  EXPECT_EQ(texts.at("2/0/out"), "b1\n");
  EXPECT_EQ(texts.at("2/0/err"), "b2");
  EXPECT_EQ(texts.at("3/0/out"), "c1\n");
}

TEST_F(LogReaderTest, FollowsARunningAttemptByWholeLines) {
  RankOutput a = begin(1, 0);
  EXPECT_TRUE(read({}, time_).pieces.empty());
  write(a, model::LogStream::kOut, "one\ntw");
  model::LogPage page = read({}, 0);
  ASSERT_EQ(page.pieces.size(), 1U);
  EXPECT_EQ(page.pieces[0].bytes, "one\n");
  EXPECT_TRUE(read(page.cursor, 0).pieces.empty()) << "the rest of the line is still to come";
  write(a, model::LogStream::kOut, "o\nthree");
  page = read(page.cursor, 0);
  ASSERT_EQ(page.pieces.size(), 1U);
  EXPECT_EQ(page.pieces[0].bytes, "two\n");
  const model::LogPage waited = read(page.cursor, kNow);
  ASSERT_EQ(waited.pieces.size(), 1U) << "after a second it is told as it is";
  EXPECT_EQ(waited.pieces[0].bytes, "three");
  write(a, model::LogStream::kOut, "!\n");
  end(a);
  page = read(waited.cursor, 0);
  ASSERT_EQ(page.pieces.size(), 1U);
  EXPECT_EQ(page.pieces[0].bytes, "!\n");
  EXPECT_TRUE(read(page.cursor, 0).pieces.empty());
}

TEST_F(LogReaderTest, AnAttemptThatEmptiesASharedFileIsNotTakenForAnother) {
  RankOutput a = begin(1, 0);
  write(a, model::LogStream::kOut, "a\n");
  write(a, model::LogStream::kErr, "lost\n");
  end(a);
  RankOutput b = begin(2, 0);
  write(b, model::LogStream::kOut, "b\n");
  empty(b, model::LogStream::kErr);
  const std::string cursor = read().cursor;
  const std::string text = std::string(300, 'x') + "\n";
  write(b, model::LogStream::kErr, text);
  end(b);
  const auto texts = read_all();
  EXPECT_EQ(texts.at("1/0/out"), "a\n");
  EXPECT_FALSE(texts.contains("1/0/err"));
  EXPECT_EQ(texts.at("2/0/out"), "b\n");
  EXPECT_EQ(texts.at("2/0/err"), text);
  EXPECT_EQ(read(cursor).pieces.size(), 1U) << "who followed it is told the rest";
}

TEST_F(LogReaderTest, AnAttemptMayEmptyWhatIsItsOwn) {
  RankOutput a = begin(1, kAloneSlots);
  write(a, model::LogStream::kErr, "much that is old\n");
  const std::string cursor = read().cursor;
  empty(a, model::LogStream::kErr);
  filter_.tail = 5;
  EXPECT_TRUE(read(read().cursor).pieces.empty()) << "its cursors stay cursors";
  filter_.tail.reset();
  EXPECT_TRUE(read(cursor).pieces.empty());
  write(a, model::LogStream::kErr, "new\n");
  end(a);
  EXPECT_EQ(read_all().at("1/0/err"), "new\n");
}

TEST_F(LogReaderTest, GoesOnFromAnyCursor) {
  std::vector<RankOutput> lanes = {begin(0, 0), begin(1, 1), begin(2, 2)};
  for (int i = 0; i < 20'000; ++i) {
    write(lanes[static_cast<std::size_t>(i % 3)], model::LogStream::kOut,
          "line " + std::to_string(i) + " of some length to fill a page or two\n");
  }
  end(lanes[1]);
  const auto texts = read_all();
  std::size_t lines = 0;
  for (const auto& [key, text] : texts)
    lines += static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  EXPECT_EQ(lines, 20'000U) << "nothing twice, nothing missing";
  // From the cursor of any piece the rest follows.
  const model::LogPage first = read();
  ASSERT_GT(first.pieces.size(), 0U);
  const model::LogPage rest = read(first.pieces.back().cursor);
  EXPECT_NE(rest.pieces.at(0).bytes, first.pieces.back().bytes);
}

TEST_F(LogReaderTest, PutsTheStreamsInTheOrderOfTheirMarks) {
  RankOutput a = begin(1, 0);
  for (int i = 0; i < 3; ++i) {
    write(a, model::LogStream::kOut, "out " + std::to_string(i) + "\n");
    mark();
    write(a, model::LogStream::kErr, "err " + std::to_string(i) + "\n");
    mark();
  }
  end(a);
  std::string order;
  read_all(&order);
  EXPECT_EQ(order, "out 0\nerr 0\nout 1\nerr 1\nout 2\nerr 2\n");
  EXPECT_LT(read().pieces.front().arrived_at, read().pieces.back().arrived_at);
}

TEST_F(LogReaderTest, ALineIsWholeEvenAcrossMarks) {
  RankOutput a = begin(1, 0);
  write(a, model::LogStream::kOut, "half ");
  mark();
  write(a, model::LogStream::kErr, "between\n");
  mark();
  write(a, model::LogStream::kOut, "whole\n");
  mark();
  end(a);
  std::string order;
  read_all(&order);
  EXPECT_EQ(order, "between\nhalf whole\n");
}

TEST_F(LogReaderTest, Filters) {
  for (int task = 0; task < 4; ++task) {
    RankOutput zero = begin(task, 0, 0);
    RankOutput one = begin(task, 0, 1);
    write(zero, model::LogStream::kOut, "zero\n");
    write(one, model::LogStream::kOut, "one\n");
    end(zero);
    end(one);
  }
  EXPECT_EQ(read_all().size(), 8U);
  filter_.rank = 1;
  EXPECT_EQ(read_all().size(), 4U);
  filter_.task = TaskIndex(2);
  EXPECT_EQ(read_all(), (std::map<std::string, std::string>{{"2/1/out", "one\n"}}));
  filter_.attempt = AttemptNumber(2);
  EXPECT_TRUE(read_all().empty());
  filter_.attempt.reset();
  filter_.step = StepIndex(1);
  EXPECT_TRUE(read_all().empty());
}

TEST_F(LogReaderTest, SinceSkipsWhatArrivedEarlier) {
  RankOutput old = begin(0, 0);
  write(old, model::LogStream::kOut, "old\n");
  mark();
  end(old);
  RankOutput a = begin(1, 0);
  write(a, model::LogStream::kOut, "early\n");
  mark();
  const Time since = Time::from_millis(++time_);
  write(a, model::LogStream::kOut, "late\n");
  mark();
  end(a);
  filter_.since = since;
  EXPECT_EQ(read_all(), (std::map<std::string, std::string>{{"1/0/out", "late\n"}}));
}

TEST_F(LogReaderTest, TheTailIsTheLastLines) {
  for (int task = 0; task < 5; ++task) {
    RankOutput a = begin(task, 0);
    for (int i = 0; i < 3; ++i) {
      write(a, model::LogStream::kOut, std::to_string(task) + "." + std::to_string(i) + "\n");
    }
    end(a);
  }
  RankOutput silent = begin(5, 0);
  end(silent);
  RankOutput running = begin(6, 0);
  write(running, model::LogStream::kOut, "run 1\nrun 2\n");
  const auto tail = [&](std::int64_t lines) {
    filter_.tail = lines;
    std::string text;
    for (const model::LogPiece& piece : read().pieces) text += piece.bytes;
    return text;
  };
  EXPECT_EQ(tail(0), "");
  EXPECT_EQ(tail(1), "run 2\n");
  EXPECT_EQ(tail(2), "run 1\nrun 2\n");
  EXPECT_EQ(tail(4), "4.1\n4.2\nrun 1\nrun 2\n");
  EXPECT_EQ(tail(6), "3.2\n4.0\n4.1\n4.2\nrun 1\nrun 2\n");
  const std::string all = tail(1'000);
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n'), 17);
  filter_.tail = 1;
  const model::LogPage page = read();
  write(running, model::LogStream::kOut, "run 3\n");
  const model::LogPage next = read(page.cursor);
  ASSERT_EQ(next.pieces.size(), 1U);
  EXPECT_EQ(next.pieces[0].bytes, "run 3\n");
}

TEST_F(LogReaderTest, SaysWhereMaxLogDroppedSomething) {
  RankOutput a = begin(1, 0);
  for (int i = 0; i < 300; ++i) {
    write(a, model::LogStream::kOut, std::to_string(1'000 + i) + std::string(1019, '.') + "\n");
  }
  end(a, Bytes::kibi(100));
  const std::string text = read_all().at("1/0/out");
  EXPECT_TRUE(text.starts_with("1000..."));
  EXPECT_TRUE(text.ends_with("...\n"));
  EXPECT_NE(text.find("[runnel: 204800 bytes dropped here: max_log is 100KiB]\n"),
            std::string::npos)
      << text.substr(51'000, 300);
  EXPECT_EQ(text.find('\0'), std::string::npos);
  EXPECT_NE(text.find("1299"), std::string::npos);
}

TEST_F(LogReaderTest, ALongLineComesInParts) {
  RankOutput a = begin(1, 0);
  const std::string line(3 * model::kLogPageBytes + 17, 'x');
  write(a, model::LogStream::kOut, line);
  const model::LogPage page = read({}, 0);
  ASSERT_EQ(page.pieces.size(), 1U);
  EXPECT_EQ(page.pieces[0].bytes.size(), model::kLogPageBytes);
  end(a);
  EXPECT_EQ(read_all().at("1/0/out"), line);
}

TEST_F(LogReaderTest, RefusesCursorsOfOtherPlaces) {
  RankOutput a = begin(1, 0);
  end(a);
  for (const char* cursor : {"nonsense", "99", "2;1.0.0", "2;0.0.0.5"}) {
    const Result<model::LogPage> page = reader_.read(filter_, cursor, Time());
    ASSERT_FALSE(page.ok()) << cursor;
    EXPECT_EQ(page.error().code, Errc::kInvalid);
  }
}

TEST_F(LogReaderTest, SurvivesADamagedRecord) {
  RankOutput a = begin(1, 0);
  write(a, model::LogStream::kOut, "a\n");
  end(a);
  RankOutput b = begin(2, 0);
  write(b, model::LogStream::kOut, "b\n");
  end(b);
  const std::string path = index_path(logs_folder(home_.path(), JobId("job")));
  FILE* file = std::fopen(path.c_str(), "r+");
  std::fseek(file, 10, SEEK_SET);
  std::fputc('!', file);
  std::fclose(file);
  EXPECT_EQ(read_all(), (std::map<std::string, std::string>{{"2/0/out", "b\n"}}));
  EXPECT_EQ(read().damage.size(), 1U) << "and says that there was more";
}

TEST_F(LogReaderTest, WhoseEndIsDamagedEndsWhereTheNextBegins) {
  const std::string logs = logs_folder(home_.path(), JobId("job"));
  for (int task = 1; task <= 3; ++task) {
    RankOutput rank = begin(task, 0);
    write(rank, model::LogStream::kOut, std::to_string(task) + "\n");
    end(rank);
  }
  std::string index = testing::read_text(index_path(logs));
  index[3 * kIndexRecordBytes + 20] ^= 1;  // The end of the second.
  MUST(env::write_file_atomically(index_path(logs), index, env::Access::kOwner));
  const std::map<std::string, std::string> all = {
      {"1/0/out", "1\n"}, {"2/0/out", "2\n"}, {"3/0/out", "3\n"}};
  EXPECT_EQ(read_all(), all);
  EXPECT_NE(damage().find("damaged records"), std::string::npos) << damage();
  filter_.tail = 10;
  EXPECT_EQ(texts_of(read().pieces), all);
}

TEST_F(LogReaderTest, NamesWhatIsMissing) {
  RankOutput a = begin(1, 0);
  write(a, model::LogStream::kOut, "a\n");
  end(a);
  filter_.over = true;
  EXPECT_EQ(damage(), "");
  const std::string logs = logs_folder(home_.path(), JobId("job"));
  const std::string segment = segment_path(logs, 0, 0, model::LogStream::kOut);
  const std::string output = testing::read_text(segment);
  const std::string index = testing::read_text(index_path(logs));
  const auto put = [](const std::string& path, const std::string& bytes) {
    MUST(env::write_file_atomically(path, bytes, env::Access::kOwner));
  };
  put(segment, output.substr(0, output.size() - 1));
  EXPECT_EQ(damage(), segment + " is shorter than its index says: output is lost");
  MUST(env::remove_file(segment));
  EXPECT_EQ(damage(), segment + " holds output that cannot be read: No such file or directory");
  put(segment, output);
  for (const std::size_t size : {std::size_t{0}, kIndexRecordBytes * 2 - 1}) {
    put(index_path(logs), index.substr(0, size));
    EXPECT_NE(damage(), "") << size;
    filter_.over = false;
    EXPECT_EQ(damage(), "") << "of a job that runs the rest is still to come";
    filter_.over = true;
  }
  MUST(env::remove_file(index_path(logs)));
  EXPECT_EQ(damage(),
            index_path(logs) + " cannot be read, and with it no output: No such file or directory");
  std::filesystem::remove_all(logs);
  EXPECT_EQ(damage(), "") << "nobody says that a task of it began";
  filter_.ran = true;
  EXPECT_EQ(damage(), logs + " is gone, and with it all output of the job");
  filter_.over = false;
  EXPECT_EQ(damage(), "") << "its first task may be about to begin";
}

TEST_F(LogReaderTest, NamesAnOverwrittenIndexOnce) {
  RankOutput a = begin(1, 0);
  write(a, model::LogStream::kOut, "a\n");
  end(a);
  const std::string logs = logs_folder(home_.path(), JobId("job"));
  for (const std::size_t size : {2 * kIndexRecordBytes, 3 * kIndexRecordBytes - 7}) {
    MUST(env::write_file_atomically(index_path(logs), std::string(size, 'x'), env::Access::kOwner));
    for (const bool over : {false, true}) {
      filter_.over = over;
      EXPECT_EQ(damage(),
                index_path(logs) +
                    " has damaged records: some output is lost, or told as another task's");
    }
  }
}

TEST_F(LogReaderTest, NamesOutputThatIsNobodys) {
  RankOutput a = begin(1, 0);
  write(a, model::LogStream::kOut, "a\n");
  end(a);
  const std::string logs = logs_folder(home_.path(), JobId("job"));
  const std::string index = testing::read_text(index_path(logs));
  RankOutput b = begin(2, 0);
  write(b, model::LogStream::kOut, "bb\n");
  end(b);
  filter_.over = true;
  EXPECT_EQ(damage(), "");
  MUST(env::write_file_atomically(index_path(logs), index, env::Access::kOwner));
  EXPECT_NE(damage().find("0.0.out ends with 3 bytes of no attempt"), std::string::npos)
      << damage();
}

TEST_F(LogReaderTest, ReadsAHundredThousandShortAttempts) {
  for (int task = 0; task < 100'000; ++task) {
    RankOutput a = MUST(output_.begin(0, 0, attempt_of(task), Time::from_millis(1)));
    write(a, model::LogStream::kOut, "x\n");
    output_.end(a, Bytes::gibi(1), Time::from_millis(2));
  }
  MUST(output_.flush());
  std::size_t lines = 0;
  std::string cursor;
  while (true) {
    const model::LogPage page = read(cursor);
    if (page.pieces.empty()) break;
    lines += page.pieces.size();
    cursor = page.cursor;
    EXPECT_LT(page.cursor.size(), 100U);
  }
  EXPECT_EQ(lines, 100'000U);
  filter_.tail = 10;
  EXPECT_EQ(read().pieces.size(), 10U);
}

class LogMarkerTest : public LogReaderTest {};

TEST_F(LogMarkerTest, NotesGrowthOnceAndGoesOnWhereAnotherEnded) {
  RankOutput a = begin(1, kAloneSlots);
  const std::string name = std::to_string(kAloneSlots) + ".0.out";
  EXPECT_FALSE(marker_.look(name, Time::from_millis(5)));
  write(a, model::LogStream::kOut, "x");
  EXPECT_TRUE(marker_.look(name, Time::from_millis(6)));
  EXPECT_FALSE(marker_.look(name, Time::from_millis(7)));
  write(a, model::LogStream::kErr, "yy");
  LogMarker next(logs_folder(home_.path(), JobId("job")));
  EXPECT_FALSE(next.look(name, Time::from_millis(8)));
  EXPECT_TRUE(next.look_all(Time::from_millis(9)));
  const std::string text =
      testing::read_text(marks_path(logs_folder(home_.path(), JobId("job")), kAloneSlots, 0));
  EXPECT_EQ(parse_marks(text),
            (std::vector<LogMark>{{Time::from_millis(6), model::LogStream::kOut, 1},
                                  {Time::from_millis(9), model::LogStream::kErr, 2}}));
}

TEST_F(LogMarkerTest, NotesThatAFileWasEmptied) {
  RankOutput a = begin(1, kAloneSlots);
  write(a, model::LogStream::kOut, "much that is old\n");
  mark();
  empty(a, model::LogStream::kOut);
  write(a, model::LogStream::kOut, "new\n");
  EXPECT_TRUE(marker_.look_all(Time::from_millis(++time_)));
  filter_.since = Time::from_millis(++time_);
  write(a, model::LogStream::kOut, "newer\n");
  mark();
  end(a);
  EXPECT_EQ(read_all().at("1/0/out"), "newer\n");
}

TEST_F(LogMarkerTest, IgnoresWhatIsNoOutput) {
  for (const char* name :
       {"index", "", "x", "1", "1.", "1.2", "1.2.marks", "1.2.outer", "../0.0.out"}) {
    EXPECT_FALSE(marker_.look(name, Time())) << name;
  }
}

// Both come while a job begins, the index first.
TEST(LogAudit, AnIndexThatCameAfterItWasLookedForIsNoDamage) {
  const env::testing::TemporaryDirectory logs;
  const std::string path = logs.path();
  LogAudit runs(path, LogAudit::Job::kRuns);
  LogAudit over(path, LogAudit::Job::kOver);
  MUST(env::write_file_atomically(index_path(path), ""));
  MUST(env::write_file_atomically(segment_path(path, 0, 0, model::LogStream::kOut), "1"));
  EXPECT_TRUE(runs.sentences().empty());
  EXPECT_EQ(over.sentences().size(), 1U);
}

TEST_F(LogReaderTest, WhoCannotOpenAllFilesTellsTheRestLater) {
  std::vector<RankOutput> ranks;
  for (std::int64_t task = 0; task < 20; ++task) {
    ranks.push_back(begin(task, static_cast<std::uint32_t>(task)));
    write(ranks.back(), model::LogStream::kOut, "of " + std::to_string(task) + "\n");
  }
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const async::UniqueFd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  rlimit few = before;
  few.rlim_cur = static_cast<rlim_t>(next.get()) + 10;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  const model::LogPage first = read();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LT(first.pieces.size(), 20U);
  for (RankOutput& rank : ranks) end(rank);
  const model::LogPage second = read(first.cursor);
  EXPECT_TRUE(second.damage.empty());
  EXPECT_EQ(first.pieces.size() + second.pieces.size(), 20U);
}

// The next attempt of a slot writes into the same files: its lines are never told as those of the
// one before, whose end was not in the index yet when the page was begun.
TEST_F(LogReaderTest, WhoReadsWhileAttemptsFollowEachOtherTellsEachLineAsItsOwn) {
  constexpr std::int64_t kTasks = 4'000;
  std::thread writer([this] {
    for (std::int64_t task = 0; task < kTasks; ++task) {
      RankOutput rank = begin(task, 0);
      write(rank, model::LogStream::kOut, "of " + std::to_string(task) + "\n");
      end(rank);
    }
  });
  std::int64_t told = 0;
  std::string cursor;
  const auto take = [&](const model::LogPage& page) {
    for (const model::LogPiece& piece : page.pieces) {
      EXPECT_EQ(piece.bytes, "of " + std::to_string(piece.attempt.task.index.value()) + "\n");
      ++told;
    }
  };
  model::LogFilter last = filter_;
  last.tail = 1;
  while (told < kTasks && !HasFailure()) {
    const model::LogPage page = read(cursor);
    take(page);
    cursor = page.cursor;
    for (const auto& piece : MUST(reader_.read(last, "", Time::from_millis(kNow))).pieces) {
      EXPECT_EQ(piece.bytes, "of " + std::to_string(piece.attempt.task.index.value()) + "\n");
    }
  }
  writer.join();
  EXPECT_EQ(told, kTasks);
}

}  // namespace
}  // namespace runnel::output
