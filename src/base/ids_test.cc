#include "base/ids.h"

#include <set>
#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

#include "base/split_mix.h"

namespace runnel {
namespace {

// Ids of different things neither convert nor compare.
static_assert(!std::is_convertible_v<JobId, NodeId>);
static_assert(!std::is_convertible_v<std::string, JobId>);
static_assert(!std::is_convertible_v<std::int64_t, EventSeq>);
static_assert(!std::is_same_v<EventSeq, BatchSeq>);
static_assert(sizeof(TaskIndex) == sizeof(std::int64_t));
static_assert(sizeof(JobId) == 16);
static_assert(std::is_trivially_copyable_v<JobId>);

TEST(NamedText, ComparesByItsTextAndIsEmptyWithout) {
  EXPECT_TRUE(NodeId().empty());
  EXPECT_EQ(NodeId("a"), NodeId("a"));
  EXPECT_LT(NodeId("a"), NodeId("b"));
  EXPECT_EQ(NodeId("abc").str(), "abc");
}

TEST(JobId, IsItsText) {
  EXPECT_TRUE(JobId().empty());
  EXPECT_EQ(JobId().str(), "");
  EXPECT_EQ(JobId("").str(), "");
  for (const std::string text : {"a", "1234567", "12345678", "123456789", "0dm3k7q2f9wx",
                                 "123456789012345", "1234567890123456", "\xff\x80\x01"}) {
    EXPECT_EQ(JobId(text).str(), text);
    EXPECT_EQ(MUST(JobId::parse(text)), JobId(text));
    EXPECT_FALSE(JobId(text).empty());
  }
}

TEST(JobId, SortsAsItsText) {
  std::vector<std::string> texts = {"",
                                    "a",
                                    "b",
                                    "ab",
                                    "aa",
                                    "aaaaaaaa",
                                    "aaaaaaaab",
                                    "aaaaaaab",
                                    "\x7f",
                                    "\x80",
                                    "\xff",
                                    "1234567890123456",
                                    "123456789012345",
                                    "12345678z",
                                    "12345678\xff"};
  for (const std::string& a : texts) {
    for (const std::string& b : texts) {
      EXPECT_EQ(JobId(a) <=> JobId(b), a.compare(b) <=> 0) << a << " " << b;
    }
  }
}

TEST(JobId, HashesApartWhatDiffersInOneByte) {
  std::set<std::size_t> hashes;
  int ids = 0;
  const std::string text = "1m80wqfeewtr";
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char digit : std::string("0123456789abcdef")) {
      if (digit == text[at]) continue;
      std::string other = text;
      other[at] = digit;
      EXPECT_NE(JobId(other), JobId(text));
      hashes.insert(JobId(other).hash());
      ++ids;
    }
  }
  EXPECT_EQ(hashes.size(), static_cast<std::size_t>(ids));
  EXPECT_EQ(JobId(text).hash(), std::hash<JobId>()(JobId(text)));
}

TEST(JobId, OrdersAMapAsItsTextDoes) {
  SplitMix64 random(7);
  std::map<std::string, int> texts;
  std::map<JobId, int> ids;
  for (int i = 0; i < 500; ++i) {
    std::string text(random.next() % (JobId::kBytesMax + 1), 'a');
    for (char& digit : text) digit = static_cast<char>('a' + random.next() % 4);
    texts.emplace(text, i);
    ids.emplace(JobId(text), i);
  }
  ASSERT_EQ(ids.size(), texts.size());
  auto id = ids.begin();
  for (const auto& [text, i] : texts) {
    EXPECT_EQ(id->first.str(), text);
    EXPECT_EQ(id->second, i);
    ++id;
  }
}

TEST(JobId, IsNeverMadeOfWhatTheConstructorWasNotMeantFor) {
  EXPECT_DEATH(JobId("12345678901234567"), "too long");
  EXPECT_DEATH(JobId(std::string("a\0b", 3)), "zero byte");
}

TEST(JobId, RefusesWhatDoesNotFitByName) {
  const Result<JobId> longer = JobId::parse("12345678901234567");
  ASSERT_FALSE(longer.ok());
  EXPECT_EQ(longer.error().code, Errc::kInvalid);
  EXPECT_EQ(longer.error().value, "12345678901234567");
  EXPECT_EQ(longer.error().message, "an id of a job has at most 16 bytes, none of them zero");
  // It would be the id "a" otherwise.
  EXPECT_FALSE(JobId::parse(std::string_view("a\0", 2)).ok());
}

TEST(NamedInt, ComparesByItsNumber) {
  EXPECT_EQ(EventSeq().value(), 0);
  EXPECT_LT(EventSeq(1), EventSeq(2));
  EXPECT_EQ(StepIndex(3), StepIndex(3));
}

TEST(Ids, PrintAndHash) {
  std::ostringstream out;
  out << JobId("j1") << ' ' << TaskIndex(7);
  EXPECT_EQ(out.str(), "j1 7");
  const std::unordered_set<JobId> jobs = {JobId("a"), JobId("a"), JobId("b")};
  const std::unordered_set<TaskIndex> tasks = {TaskIndex(1), TaskIndex(1), TaskIndex(2)};
  EXPECT_EQ(jobs.size(), 2U);
  EXPECT_EQ(tasks.size(), 2U);
}

}  // namespace
}  // namespace runnel
