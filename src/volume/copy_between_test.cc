#include "volume/copy_between.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "volume/testing/memory_volume.h"

namespace runnel::volume {
namespace {

using testing::Contents;
using testing::MemoryVolume;

class CopyBetweenTest : public ::testing::Test {
 protected:
  Result<PutResult> try_copy(const std::string& path, const std::string& into,
                             const std::string& name = "") {
    PutOptions options;
    options.into = into;
    return to_.try_run(copy_between(*to_.loop(), from_.volume(), "latest", path, name, to_.volume(),
                                    std::move(options), {}));
  }

  MemoryVolume from_;
  MemoryVolume to_{from_.loop()};
};

TEST_F(CopyBetweenTest, TheTreeIsTheSame) {
  Contents files{{"a/b/c", "1"}, {"a/empty", ""}, {"none/", ""}, {"odd\nname \xff", "2"}};
  files["long"] = testing::noise(20'000'000, 1);
  files["text"] = std::string(3'000'000, 'a');
  from_.put(files);
  const PutResult done = MUST(try_copy("", ""));
  EXPECT_EQ(done.manifest.tree, from_.newest().tree);
  EXPECT_EQ(done.done.files, 5);
  EXPECT_TRUE(to_.contents() == files);
  EXPECT_EQ(from_.objects("s/"), 0) << "the source is let go";
}

TEST_F(CopyBetweenTest, BytesThatTheTargetHasAreNotStoredAgain) {
  const std::string bytes = testing::noise(5'000'000, 1);
  from_.put({{"x", bytes}});
  to_.put({{"y", bytes}});
  EXPECT_EQ(MUST(try_copy("", "")).done.stored, 0);
  EXPECT_TRUE(to_.content("x") == bytes);
}

TEST_F(CopyBetweenTest, AFileGetsItsNameInAFolder) {
  from_.put({{"a/x", "1"}});
  MUST(try_copy("a/x", "in/side", "other"));
  EXPECT_EQ(to_.contents(), (Contents{{"in/side/other", "1"}}));
  EXPECT_EQ(try_copy("none", "", "none").error().code, Errc::kNotFound);
}

TEST_F(CopyBetweenTest, ManyBatchesMakeOneVersion) {
  Contents files;
  for (int number = 0; number < 5; ++number) {
    files["f" + std::to_string(number)] = testing::noise(9'000'000, 100U + number);
  }
  files["last"] = "z";
  for (const auto& file : files) from_.put({file});
  MUST(try_copy("", "deep"));
  for (const auto& [path, bytes] : files) EXPECT_TRUE(to_.content("deep/" + path) == bytes) << path;
  EXPECT_EQ(to_.volume().head().recent.size(), 1U);
}

TEST_F(CopyBetweenTest, DamageIsNamedAndNothingIsPublished) {
  from_.put({{"good", "1"}, {"sub/bad", testing::noise(5'000, 3)}});
  for (auto& [key, object] : from_.store().objects()) {
    if (key.starts_with("data/p/")) object.bytes[2'000] ^= 1;
  }
  const Error error = try_copy("", "").error();
  EXPECT_EQ(error.code, Errc::kCorrupt);
  EXPECT_NE(error.message.find("sub/bad"), std::string::npos) << error.message;
  EXPECT_TRUE(to_.volume().head().recent.empty());
}

}  // namespace
}  // namespace runnel::volume
