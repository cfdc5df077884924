#include "runner/journal.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include <gtest/gtest.h>

#include "env/testing/temporary_directory.h"
#include "runner/testing/runner_process.h"

namespace runnel::runner {
namespace {

using env::testing::TemporaryDirectory;
using testing::read_text;

RankFact fact_of(std::int64_t task, std::int32_t rank = 0) {
  RankFact fact;
  fact.node = NodeId("local");
  fact.report.attempt = {{JobId("job"), StepIndex(0), TaskIndex(task)}, AttemptNumber(1)};
  fact.report.rank = rank;
  return fact;
}

RankFact ended(RankFact fact, std::int32_t code) {
  fact.state = RankFact::State::kEnded;
  fact.report.ended = true;
  fact.report.code = code;
  return fact;
}

const JournalOrigin kOrigin{"boot-a", Incarnation("i1"), "/home/me/.runnel", "h7-64"};

class JournalTest : public ::testing::Test {
 protected:
  std::string path() const { return home_.path() + "/journal"; }
  Journal create() { return MUST(Journal::create(path(), kOrigin)); }

  TemporaryDirectory home_;
};

// As the message's: a runner reads what an earlier build's left.
TEST_F(JournalTest, OfAnEarlierBuildIsTheSameBytes) {
  Journal journal = create();
  journal.start(1, 7, fact_of(1), Duration::millis(5'000));
  journal.process(1, 0, 4711);
  journal.start(2, 0, fact_of(2, 3), Duration::millis(6'000));
  journal.end(2, ended(fact_of(2, 3), 3));
  journal.forget(2);
  journal.end_cleanly();
  MUST(journal.commit());
  const std::string golden = std::string(RUNNEL_SOURCE_DIR) + "/test/golden/runner/journal.hex";
  EXPECT_EQ(output::testing::hex_of(output::testing::read_text(path())) + "\n",
            output::testing::read_text(golden));
}

TEST_F(JournalTest, TellsTheNextRunnerWhatItNeeds) {
  Journal journal = create();
  journal.start(1, 7, fact_of(1), Duration::millis(5'000));
  journal.process(1, 0, 4711);
  journal.start(2, 0, fact_of(2), Duration::millis(6'000));
  journal.end(2, ended(fact_of(2), 3));
  journal.start(3, 1, fact_of(3), Duration::millis(7'000));
  journal.end(3, ended(fact_of(3), 0));
  journal.forget(3);
  EXPECT_EQ(read_journal(path()).error().code, Errc::kNotFound) << "not before commit()";
  ASSERT_TRUE(journal.commit().ok());
  const JournalContent content = MUST(read_journal(path()));
  EXPECT_EQ(content.origin.boot, "boot-a");
  EXPECT_EQ(content.origin.incarnation, Incarnation("i1"));
  EXPECT_EQ(content.origin.home, "/home/me/.runnel");
  EXPECT_EQ(content.origin.home_token, "h7-64");
  EXPECT_FALSE(content.torn);
  EXPECT_FALSE(content.ended_cleanly);
  ASSERT_EQ(content.ranks.size(), 2U);
  const JournalRank& open = content.ranks.at({1, 0});
  EXPECT_EQ(open.pid, 4711);
  EXPECT_EQ(open.slot, 7U);
  EXPECT_EQ(open.started, Duration::millis(5'000));
  EXPECT_EQ(open.fact.state, RankFact::State::kQueued);
  EXPECT_EQ(content.ranks.at({2, 0}).fact.report.code, 3);
}

TEST_F(JournalTest, KeepsTheOldOneUntilCommit) {
  Journal first = create();
  first.end(1, ended(fact_of(1), 5));
  ASSERT_TRUE(first.commit().ok());
  {
    Journal second = create();
    second.end(1, ended(fact_of(1), 6));
    EXPECT_EQ(MUST(read_journal(path())).ranks.at({1, 0}).fact.report.code, 5);
    ASSERT_TRUE(second.commit().ok());
  }
  EXPECT_EQ(MUST(read_journal(path())).ranks.at({1, 0}).fact.report.code, 6);
  EXPECT_FALSE(std::filesystem::exists(path() + ".new"));
}

TEST_F(JournalTest, ForgettingTakesAllRanks) {
  Journal journal = create();
  for (int rank = 0; rank < 3; ++rank) journal.end(9, ended(fact_of(1, rank), 0));
  journal.end(10, ended(fact_of(2), 0));
  journal.forget(9);
  ASSERT_TRUE(journal.commit().ok());
  EXPECT_EQ(MUST(read_journal(path())).ranks.size(), 1U);
}

TEST_F(JournalTest, ACleanEndIsTheLastRecord) {
  Journal journal = create();
  journal.end_cleanly();
  ASSERT_TRUE(journal.commit().ok());
  EXPECT_TRUE(MUST(read_journal(path())).ended_cleanly);
  journal.end(1, ended(fact_of(1), 0));
  ASSERT_TRUE(journal.flush().ok());
  EXPECT_FALSE(MUST(read_journal(path())).ended_cleanly) << "something came after it";
}

TEST_F(JournalTest, TornAtAnyByteItKeepsWhatWasWhole) {
  Journal journal = create();
  for (int task = 0; task < 6; ++task) {
    journal.start(static_cast<std::uint64_t>(task) + 1, 0, fact_of(task), Duration::millis(task));
    journal.process(static_cast<std::uint64_t>(task) + 1, 0, 100 + task);
    journal.end(static_cast<std::uint64_t>(task) + 1, ended(fact_of(task), task));
  }
  ASSERT_TRUE(journal.commit().ok());
  const std::string whole = read_text(path());
  std::size_t readable = 0;
  std::size_t ranks = 0;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const Result<JournalContent> content = parse_journal(std::string_view(whole).substr(0, size));
    if (!content.ok()) {
      EXPECT_EQ(content.error().code, Errc::kCorrupt);
      EXPECT_EQ(readable, 0U) << "once the header is whole, a shorter file is always readable";
      continue;
    }
    ++readable;
    EXPECT_GE(content->ranks.size(), ranks) << "more bytes tell no less";
    ranks = content->ranks.size();
    for (const auto& [key, rank] : content->ranks) {
      if (rank.fact.report.ended)
        EXPECT_EQ(rank.fact.report.code, rank.fact.report.attempt.task.index.value());
    }
  }
  EXPECT_EQ(ranks, 6U);
  EXPECT_FALSE(MUST(parse_journal(whole)).torn);
  EXPECT_TRUE(MUST(parse_journal(std::string_view(whole).substr(0, whole.size() - 1))).torn);
}

TEST_F(JournalTest, ADamagedByteEndsTheReadingAndHarmsNothing) {
  Journal journal = create();
  for (int task = 0; task < 4; ++task) {
    journal.end(static_cast<std::uint64_t>(task) + 1, ended(fact_of(task), task));
  }
  ASSERT_TRUE(journal.commit().ok());
  const std::string whole = read_text(path());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    const Result<JournalContent> content = parse_journal(damaged);
    if (!content.ok()) continue;
    EXPECT_TRUE(content->torn) << at;
    EXPECT_LT(content->ranks.size(), 4U) << at;
    for (const auto& [key, rank] : content->ranks) {
      EXPECT_EQ(rank.fact.report.code, rank.fact.report.attempt.task.index.value()) << at;
    }
  }
}

TEST_F(JournalTest, ADiskWithoutRoomIsTriedAgain) {
  if (::access("/dev/full", W_OK) != 0) GTEST_SKIP() << "there is no /dev/full";
  std::filesystem::create_symlink("/dev/full", path() + ".new");
  Journal journal = create();
  const Result<void> committed = journal.commit();
  ASSERT_FALSE(committed.ok());
  EXPECT_EQ(committed.error().code, Errc::kFull);
  EXPECT_EQ(journal.flush().error().code, Errc::kFull) << "nothing was dropped";
}

}  // namespace
}  // namespace runnel::runner
