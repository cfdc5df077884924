#include "base/ids.h"

#include <sstream>
#include <string>
#include <type_traits>
#include <unordered_set>
#include <vector>

#include <gtest/gtest.h>

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
