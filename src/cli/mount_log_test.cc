#include "cli/mount_log.h"

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::cli {
namespace {

TEST(MountLog, WordsAreAPartOfASentence) {
  EXPECT_EQ(words_of(""), "");
  EXPECT_EQ(words_of("2026-11-26T09:17:25.123Z runnel: cache: 'a' is too small\n"
                     "2026-11-26T09:17:25.125Z runnel: the mount could not be served\n"),
            "cache: 'a' is too small; the mount could not be served");
  EXPECT_EQ(words_of("runnel: no time\n\nterminate called"), "no time; terminate called");
  EXPECT_EQ(words_of("2026-11-26T09:17:25.123Z a sentence that names a runnel: mount\n"),
            "2026-11-26T09:17:25.123Z a sentence that names a runnel: mount");
}

TEST(MountLog, ItsSizeIsWhereTheNextWordsBegin) {
  const env::testing::TemporaryDirectory folder;
  const home::Home home{folder.path()};
  EXPECT_EQ(mount_log_size(home), 0U);
  MUST(env::append_file(home.mounts_log(), "runnel: before\n"));
  const std::size_t before = mount_log_size(home);
  EXPECT_EQ(before, 15U);
  MUST(env::append_file(home.mounts_log(), "runnel: after\n"));
  EXPECT_EQ(words_since(home, before), "after");
}

}  // namespace
}  // namespace runnel::cli
