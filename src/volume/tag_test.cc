#include "volume/tag.h"

#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "env/clock.h"
#include "object/memory/memory_store.h"

namespace runnel::volume {
namespace {

class TagTest : public ::testing::Test {
 protected:
  TagTest() {
    first_ = publish("one");
    second_ = publish("two");
  }
  template <typename T>
  T run(Async<T> work) {
    return MUST(loop_->block_on(std::move(work)));
  }
  std::string publish(const std::string& name) {
    Edit root = Edit::folder();
    root.entries[name].node.hash = hash::sha256("");
    return run(volume_.publish(root, {}, 0, "")).version;
  }
  Error refusal(const std::string& version, const std::string& tag) {
    return loop_->block_on(set_tag(volume_, version, tag, false)).error();
  }

  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  object::MemoryStore store_;
  Volume volume_ = run(Volume::create({store_, env::real_clock(), env::real_random(), {}}, "data"));
  std::string first_;
  std::string second_;
};

TEST_F(TagTest, NamesAVersion) {
  EXPECT_EQ(run(set_tag(volume_, first_, "best", false)), first_);
  EXPECT_EQ(run(volume_.snapshot("best")).manifest().version, first_);
  EXPECT_EQ(run(set_tag(volume_, "best", "better.v1", false)), first_);
  EXPECT_EQ(run(set_tag(volume_, "latest", "new", false)), second_);
  EXPECT_EQ(run(set_tag(volume_, first_, "best", false)), first_) << "it has it already";
}

TEST_F(TagTest, ASnapshotIsOfTheNewestVersionAndMovesNoTag) {
  EXPECT_EQ(run(take_snapshot(volume_, "now")), second_);
  EXPECT_EQ(run(volume_.snapshot("now")).manifest().version, second_);
  const Error error = loop_->block_on(take_snapshot(volume_, "now")).error();
  EXPECT_EQ(error.code, Errc::kConflict) << "also when it is the same version";
  EXPECT_EQ(loop_->block_on(take_snapshot(volume_, "abc")).error().code, Errc::kInvalid);
  Volume empty = run(Volume::create({store_, env::real_clock(), env::real_random(), {}}, "empty"));
  EXPECT_EQ(loop_->block_on(take_snapshot(empty, "now")).error().code, Errc::kNotFound);
}

TEST_F(TagTest, IsMovedOnRequestAlone) {
  run(set_tag(volume_, first_, "best", false));
  const Error error = refusal(second_, "best");
  EXPECT_EQ(error.code, Errc::kConflict);
  EXPECT_EQ(error.hint, "move it: --force");
  EXPECT_EQ(run(set_tag(volume_, second_, "best", true)), second_);
  EXPECT_EQ(run(volume_.snapshot("best")).manifest().version, second_);
}

TEST_F(TagTest, KeepsItsVersionHoweverManyFollow) {
  run(set_tag(volume_, first_, "best", false));
  for (std::size_t number = 0; number < Head::kRecentMax; ++number) {
    publish("f" + std::to_string(number));
  }
  EXPECT_EQ(volume_.head().recent.size(), Head::kRecentMax);
  EXPECT_EQ(run(volume_.snapshot(first_)).manifest().version, first_);
  EXPECT_EQ(loop_->block_on(volume_.snapshot(second_)).error().code, Errc::kNotFound);
}

TEST_F(TagTest, IsRemoved) {
  run(set_tag(volume_, first_, "best", false));
  MUST(loop_->block_on(remove_tag(volume_, "best")));
  EXPECT_TRUE(volume_.head().tags.empty());
  EXPECT_EQ(loop_->block_on(remove_tag(volume_, "best")).error().code, Errc::kNotFound);
}

TEST_F(TagTest, HasANameThatIsNoIdsBeginning) {
  for (const std::string& tag : {std::string(), std::string("latest"), std::string("0af"),
                                 std::string("a b"), std::string("a/b"), std::string(64, 'x')}) {
    EXPECT_EQ(refusal(first_, tag).code, Errc::kInvalid) << tag;
  }
  EXPECT_EQ(refusal("nothing", "best").code, Errc::kNotFound);
}

TEST_F(TagTest, ThereAreSoMany) {
  for (std::size_t number = 0; number < Head::kTagsMax; ++number) {
    run(set_tag(volume_, first_, "t" + std::to_string(number), false));
  }
  EXPECT_EQ(refusal(first_, "more").code, Errc::kFull);
  EXPECT_EQ(run(set_tag(volume_, second_, "t7", true)), second_) << "one that is there moves";
}

}  // namespace
}  // namespace runnel::volume
