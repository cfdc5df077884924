#include "cli/mount_log.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace runnel::cli
