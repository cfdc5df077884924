#include "output/event_folder.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::output {
namespace {

namespace fs = std::filesystem;
using model::MetricSample;

const std::string kGolden = std::string(RUNNEL_SOURCE_DIR) + "/test/golden/tensorboard/";

class EventFolderTest : public ::testing::Test {
 protected:
  void put(const std::string& name, std::string_view bytes) {
    const std::string path = path_ + "/" + name;
    MUST(env::make_directories(env::parent_of(path)));
    MUST(env::append_file(path, bytes));
  }
  std::size_t read() {
    samples_.clear();
    folder_.read(samples_);
    return samples_.size();
  }

  env::testing::TemporaryDirectory home_;
  const std::string path_ = home_.path() + "/tb";
  const std::string file_ = MUST(env::read_file(kGolden + "scalars.tfevents"));
  EventFolder folder_{path_};
  std::vector<MetricSample> samples_;
};

TEST_F(EventFolderTest, IsEmptyUntilItIsThere) {
  EXPECT_FALSE(folder_.read(samples_));
  EXPECT_TRUE(samples_.empty());
}

TEST_F(EventFolderTest, ReadsEachFileAsItGrows) {
  put("events.out.tfevents.1", file_.substr(0, 100));
  const std::size_t first = read();
  put("events.out.tfevents.1", file_.substr(100));
  EXPECT_GE(first + read(), 4U);
  EXPECT_FALSE(folder_.read(samples_));
  EXPECT_EQ(folder_.bad_records(), 0);
}

TEST_F(EventFolderTest, CallsTagsOfASubfolderByItsPath) {
  put("a/b/tfevents", file_);
  ASSERT_GE(read(), 4U);
  EXPECT_EQ(samples_.front().values.front().first, "a/b/acc/val");
}

TEST_F(EventFolderTest, FollowsNoLinkAndReadsNothingElse) {
  put("notes.txt", file_);
  fs::create_symlink(kGolden, path_ + "/linked");
  fs::create_symlink(kGolden + "scalars.tfevents", path_ + "/tfevents");
  EXPECT_EQ(read(), 0U);
}

TEST_F(EventFolderTest, CountsWhatIsDamaged) {
  put("tfevents", std::string(64, '\0'));
  put("other/tfevents", file_);
  EXPECT_GE(read(), 4U);
  EXPECT_EQ(folder_.bad_records(), 1);
}

TEST_F(EventFolderTest, LooksAtSoManyFilesAndNoDeeper) {
  for (std::size_t i = 0; i < EventFolder::kFilesMax + 5; ++i) {
    put(std::to_string(i) + ".tfevents", file_);
  }
  EXPECT_LE(read(), EventFolder::kFilesMax * 4);
  std::string deep;
  for (int i = 0; i <= EventFolder::kDepthMax; ++i) deep += "d/";
  EventFolder other(path_ + "/d");
  put("d/" + deep + "tfevents", file_);
  EXPECT_FALSE(other.read(samples_));
}

}  // namespace
}  // namespace runnel::output
