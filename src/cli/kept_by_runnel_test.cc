#include "cli/kept_by_runnel.h"

#include <string>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "home/home.h"
#include "volume/head.h"

namespace runnel::cli {
namespace {

class KeptByRunnelTest : public ::testing::Test {
 protected:
  std::string place(const std::string& name) const { return folder_.path() + "/" + name; }
  void write(const std::string& name, const std::string& text) const {
    MUST(env::make_directories(env::parent_of(place(name))));
    MUST(env::write_file_atomically(place(name), text));
  }
  std::string told(const std::string& name) const {
    const Result<void> checked = check_keeps_nothing(place(name));
    if (checked.ok()) return "";
    EXPECT_EQ(checked.error().code, Errc::kConflict);
    return checked.error().message;
  }

  env::testing::TemporaryDirectory folder_;
};

TEST_F(KeptByRunnelTest, FilesAreNothingOfOurs) {
  write("project/.runnelrc", "");
  write("project/src/head", "{}");
  write("project/log/version", "1");
  EXPECT_EQ(told("project"), "");
  EXPECT_EQ(told("project/src/head"), "");
  EXPECT_EQ(told("nowhere"), "");
  EXPECT_TRUE(check_in_no_volume(place("project/src")).ok());
}

TEST_F(KeptByRunnelTest, AStoreIsFoundAtAnyDepth) {
  write("a/b/volumes/.runnel/lock", "");
  EXPECT_EQ(told("a"), place("a/b/volumes") + " is a store of volumes, which would be lost");
  EXPECT_EQ(told("a/b/volumes/.runnel"),
            place("a/b/volumes/.runnel") + " is a store of volumes, which would be lost");
}

TEST_F(KeptByRunnelTest, AHomeIsFound) {
  const home::Home home{place("a/own")};
  MUST(env::make_directories(home.root));
  MUST(env::write_file_atomically(home.version(), "1"));
  EXPECT_EQ(told("a"), "");
  MUST(env::write_file_atomically(home.event_log(), ""));
  EXPECT_EQ(told("a"), place("a/own") + " is a home of Runnel, which would be lost");
}

TEST_F(KeptByRunnelTest, AVolumeIsFoundFromAboveAndFromWithin) {
  volume::Head head;
  head.uuid = std::string(32, '1');
  head.nonce = std::string(16, '2');
  write("a/data/head", volume::encode_head(head));
  MUST(env::make_directories(place("a/data/p/deep")));
  const std::string expected = place("a/data") + " is the place of a volume, which would be lost";
  EXPECT_EQ(told("a"), expected);
  EXPECT_EQ(told("a/data/p"), "");
  for (const char* within : {"a/data", "a/data/p", "a/data/p/deep", "a/data/p/new"}) {
    EXPECT_EQ(check_in_no_volume(place(within)).error().message, expected) << within;
  }
  EXPECT_TRUE(check_in_no_volume(place("a")).ok());
}

}  // namespace
}  // namespace runnel::cli
