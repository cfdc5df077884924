#include "library/open_version.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "env/files.h"
#include "library/testing/stored_volume.h"

namespace runnel::library {
namespace {

using testing::StoredVolume;

class OpenVersionTest : public ::testing::Test {
 protected:
  Opening opening(const std::string& version = "latest") const {
    return {.reference = {stored_.url(), "data", version, ""}, .cache = {}};
  }
  static Result<std::uint64_t> size(OpenVersion& open, const std::string& path) {
    const Result<PathEnd> end = open.ask<PathEnd>(
        [&path](VersionReader& reader) { return reader.find(path, LastLink::kFollow); });
    if (!end.ok()) return end.error();
    CHECK(!end->refusal, "the path leads nowhere");
    return end->found.node.size;
  }

  StoredVolume stored_;
};

TEST_F(OpenVersionTest, FindsOutWhichVersionItIs) {
  stored_.write("file", "1");
  const std::string first = stored_.put();
  stored_.write("file", "22");
  const std::string second = stored_.put();
  const auto newest = MUST(OpenVersion::open(opening()));
  const auto begun = MUST(OpenVersion::open(opening(first.substr(0, 10))));
  EXPECT_EQ(newest->reference().version, second);
  EXPECT_EQ(begun->reference().version, first);
  EXPECT_NE(begun->reference().manifest, newest->reference().manifest);
  EXPECT_EQ(MUST(size(*newest, "file")), 2U);
  EXPECT_EQ(MUST(size(*begun, "file")), 1U);
}

TEST_F(OpenVersionTest, AnswersUntilItsEndAndRefusesAfterwards) {
  stored_.write("file", "1");
  stored_.put();
  const auto open = MUST(OpenVersion::open(opening()));
  EXPECT_EQ(stored_.objects("s").size(), 1U);
  EXPECT_FALSE(open->has_ended());
  EXPECT_TRUE(open->end());
  EXPECT_TRUE(open->has_ended());
  EXPECT_EQ(size(*open, "file").error().code, Errc::kGone);
  EXPECT_EQ(stored_.objects("s").size(), 0U);
  EXPECT_TRUE(open->end()) << "there is nothing more to end";
}

TEST_F(OpenVersionTest, EndsWithTheLastThatHasIt) {
  stored_.write("file", "1");
  stored_.put();
  MUST(OpenVersion::open(opening())).reset();
  EXPECT_EQ(stored_.objects("s").size(), 0U);
}

TEST_F(OpenVersionTest, ASessionIsAReadersOfThisProcess) {
  stored_.write("file", "1");
  stored_.put();
  const auto open = MUST(OpenVersion::open(opening()));
  const std::string text = MUST(env::read_file(stored_.path_of("s", stored_.objects("s").at(0))));
  const volume::SessionRecord record = MUST(volume::decode_session(text));
  EXPECT_EQ(record.kind, "reader");
  EXPECT_EQ(record.pid, ::getpid());
  EXPECT_EQ(record.pin, open->reference().manifest);
  EXPECT_FALSE(record.writes);
}

TEST_F(OpenVersionTest, SaysWhatIsNotThere) {
  stored_.write("file", "1");
  stored_.put();
  EXPECT_EQ(OpenVersion::open(opening("none")).error().code, Errc::kNotFound);
  Opening another = opening();
  another.reference.volume = "another";
  EXPECT_EQ(OpenVersion::open(another).error().code, Errc::kNotFound);
  another.reference.store = "nowhere";
  EXPECT_EQ(OpenVersion::open(another).error().code, Errc::kInvalid);
  EXPECT_EQ(stored_.objects("s").size(), 0U);
}

TEST_F(OpenVersionTest, AReferenceToAnotherVersionsManifestIsRefused) {
  stored_.write("file", "1");
  stored_.put();
  const auto first = MUST(OpenVersion::open(opening()));
  Opening wrong{.reference = first->reference(), .cache = {}};
  wrong.reference.version = "0123456789abcdef";
  EXPECT_EQ(OpenVersion::open(wrong).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace runnel::library
