#include "home/jobs_owner.h"

#include <gtest/gtest.h>

namespace runnel::home {
namespace {

const JobsMark kMark{"id-of-a", "/home/me/a"};

TEST(JobsOwner, AFolderWithoutAMarkIsOfWhoOpensIt) {
  EXPECT_EQ(owner_of(std::nullopt, "id-of-a", false), JobsOwner::kOurs);
}

TEST(JobsOwner, AHomeKnowsItsOwnWhereverItIs) {
  EXPECT_EQ(owner_of(kMark, "id-of-a", false), JobsOwner::kOurs);
}

TEST(JobsOwner, AFolderOfAnotherHomeIsNotOurs) {
  EXPECT_EQ(owner_of(kMark, "id-of-b", false), JobsOwner::kAnother) << "it may be moved or away";
  EXPECT_EQ(owner_of(kMark, "id-of-b", true), JobsOwner::kAnother);
}

TEST(JobsOwner, ACopyHasTheIdOfItsOriginalAndNotItsJobs) {
  EXPECT_EQ(owner_of(kMark, "id-of-a", true), JobsOwner::kAnother);
}

TEST(JobsOwner, AMarkIsReadAsItWasWritten) {
  EXPECT_EQ(parse_mark(mark_text(kMark)), kMark);
  for (const char* text : {"", "{", "{}", "[1]", R"({"home_id": "x"})"}) {
    EXPECT_FALSE(parse_mark(text)) << text;
  }
}

}  // namespace
}  // namespace runnel::home
