#include "library/volume_handle.h"

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "library/testing/stored_volume.h"

namespace runnel::library {
namespace {

using testing::StoredVolume;

// A question that finds its version ended the first times that it is asked.
class EndedVersion {
 public:
  explicit EndedVersion(int times, Errc how = Errc::kGone) : left_(times), how_(how) {}

  Question<int> question() {
    return [this](VersionReader& /*reader*/) { return answer(); };
  }
  int asked() const { return asked_; }

 private:
  Async<int> answer() {
    ++asked_;
    if (left_-- > 0) co_return Error(how_, "it has ended");
    co_return 7;
  }

  int left_;
  Errc how_;
  int asked_ = 0;
};

class VolumeHandleTest : public ::testing::Test {
 protected:
  VolumeHandleTest() {
    stored_.write("file", "1");
    version_ = stored_.put();
  }
  Opening opening() const {
    return {.reference = {stored_.url(), "data", "latest", ""}, .cache = {}};
  }
  std::unique_ptr<VolumeHandle> open() { return MUST(VolumeHandle::open(opening())); }
  static Result<int> ask(VolumeHandle& handle) {
    EndedVersion version(0);
    return handle.ask<int>(version.question());
  }

  StoredVolume stored_;
  std::string version_;
};

TEST_F(VolumeHandleTest, IsOpenFromTheBeginningOrWithTheFirstQuestion) {
  const auto first = open();
  EXPECT_EQ(stored_.objects("s").size(), 1U);
  EXPECT_EQ(first->reference().version, version_);
  VolumeHandle other(Opening{.reference = first->reference(), .cache = {}});
  EXPECT_EQ(stored_.objects("s").size(), 1U);
  EXPECT_EQ(MUST(ask(other)), 7);
  EXPECT_EQ(stored_.objects("s").size(), 2U);
}

TEST_F(VolumeHandleTest, OpensAnewWhatHasEndedAndAsksAgain) {
  for (const Errc how : {Errc::kGone, Errc::kCancelled}) {
    const auto handle = open();
    const std::vector<std::string> before = stored_.objects("s");
    EndedVersion version(1, how);
    EXPECT_EQ(MUST(handle->ask<int>(version.question())), 7);
    EXPECT_EQ(version.asked(), 2);
    EXPECT_EQ(stored_.objects("s").size(), 1U) << "the session before was ended";
    EXPECT_NE(stored_.objects("s"), before);
  }
}

TEST_F(VolumeHandleTest, AsksTwiceAtMost) {
  const auto handle = open();
  EndedVersion version(100);
  EXPECT_EQ(handle->ask<int>(version.question()).error().code, Errc::kGone);
  EXPECT_EQ(version.asked(), 2);
  EXPECT_EQ(MUST(ask(*handle)), 7) << "it can be asked again";
}

TEST_F(VolumeHandleTest, OtherErrorsAreAnswers) {
  const auto handle = open();
  EndedVersion version(1, Errc::kCorrupt);
  EXPECT_EQ(handle->ask<int>(version.question()).error().code, Errc::kCorrupt);
  EXPECT_EQ(version.asked(), 1);
}

TEST_F(VolumeHandleTest, LetsGoOfItsVersionWhenItIsDestroyed) {
  auto handle = open();
  EXPECT_EQ(MUST(ask(*handle)), 7);
  handle.reset();
  EXPECT_EQ(stored_.objects("s").size(), 0U);
}

TEST_F(VolumeHandleTest, IsClosedForGood) {
  const auto handle = open();
  handle->close();
  EXPECT_EQ(stored_.objects("s").size(), 0U);
  handle->close();
  const Error error = ask(*handle).error();
  EXPECT_EQ(error.code, Errc::kGone);
  EXPECT_NE(error.message.find("was closed"), std::string::npos);
  EXPECT_EQ(stored_.objects("s").size(), 0U) << "it was not opened anew";
}

TEST_F(VolumeHandleTest, ThreadsThatFindItEndedOpenItOnce) {
  const auto handle = open();
  std::vector<std::thread> threads;
  for (int number = 0; number < 4; ++number) {
    threads.emplace_back([&handle] {
      EndedVersion version(1);
      // Another thread may have put away what this one has asked.
      const Result<int> answer = handle->ask<int>(version.question());
      EXPECT_TRUE(answer.ok() || answer.error().code == Errc::kGone);
    });
  }
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(stored_.objects("s").size(), 1U);
  EXPECT_EQ(MUST(ask(*handle)), 7);
}

}  // namespace
}  // namespace runnel::library
