#include "home/volume_places.h"

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::home {
namespace {

class VolumePlacesTest : public ::testing::Test {
 protected:
  env::testing::TemporaryDirectory folder_;
  Home home_{folder_.path() + "/home"};
};

TEST_F(VolumePlacesTest, AreTheHomesOwnFolderUnlessRemembered) {
  EXPECT_EQ(MUST(place_of_volume(home_, "data", {})).to_string(),
            "file://" + home_.root + "/volumes");
  MUST(remember_volume(home_, "data", MUST(object::parse_store_url("s3://bucket/p"))));
  MUST(remember_volume(home_, "other", MUST(object::parse_store_url("file:///other"))));
  EXPECT_EQ(MUST(place_of_volume(home_, "data", {})).to_string(), "s3://bucket/p");
  EXPECT_EQ(MUST(place_of_volume(home_, "data", "file:///given")).to_string(), "file:///given");
  EXPECT_EQ(MUST(volume_places(home_)).size(), 2U);
}

TEST_F(VolumePlacesTest, OfTheHomeItselfMoveWithIt) {
  MUST(remember_volume(home_, "own", MUST(place_of_volume(home_, "own", {}))));
  MUST(remember_volume(home_, "far", MUST(object::parse_store_url("file:///far"))));
  const Home moved{folder_.path() + "/moved"};
  MUST(env::rename_file(home_.root, moved.root));
  EXPECT_EQ(MUST(place_of_volume(moved, "own", {})).to_string(),
            "file://" + moved.root + "/volumes");
  EXPECT_EQ(MUST(place_of_volume(moved, "far", {})).to_string(), "file:///far");
  EXPECT_EQ(MUST(volume_places(moved)).size(), 2U);
}

TEST_F(VolumePlacesTest, AreForgottenOnlyWhenTheyAreGone) {
  const object::StoreUrl far = MUST(object::parse_store_url("file:///far"));
  MUST(remember_volume(home_, "data", far));
  MUST(forget_volume(home_, "data", far, [] { return false; }));
  MUST(forget_volume(home_, "data", MUST(object::parse_store_url("file:///b")),
                     [] { return true; }));
  EXPECT_EQ(MUST(volume_places(home_)).size(), 1U) << "it was made anew, or is another";
  MUST(forget_volume(home_, "data", far, [] { return true; }));
  EXPECT_TRUE(MUST(volume_places(home_)).empty());
}

TEST_F(VolumePlacesTest, RefuseWhatIsNoStore) {
  EXPECT_EQ(place_of_volume(home_, "data", "nowhere").error().code, Errc::kInvalid);
}

TEST_F(VolumePlacesTest, SayWhatToDoWithADamagedFile) {
  MUST(env::make_directories(home_.root));
  for (const char* text : {"", "{", R"({"volumes": [{"name": "a", "store": "b"}]})"}) {
    MUST(env::write_file_atomically(home_.volumes_file(), text));
    const Error error = volume_places(home_).error();
    EXPECT_EQ(error.code, Errc::kCorrupt) << text;
    EXPECT_NE(error.hint.find("--store"), std::string::npos);
  }
}

}  // namespace
}  // namespace runnel::home
