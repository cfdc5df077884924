#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "env/clock.h"
#include "object/memory/memory_store.h"
#include "volume/chunk_read.h"
#include "volume/copy_between.h"
#include "volume/file_reader.h"
#include "volume/fsck.h"
#include "volume/gc.h"
#include "volume/link_source.h"
#include "volume/testing/memory_volume.h"
#include "volume/tree_edit.h"

namespace runnel::volume {
namespace {

using testing::Contents;
using testing::MemoryVolume;

const std::string kBucket = "s3://others";

// The one bucket that there is.
class OneBucket final : public object::StoreFinder {
 public:
  Result<object::ObjectStore*> find(const object::StoreUrl& url) override {
    if (url.to_string() != kBucket) return Error(Errc::kNotFound, "another bucket");
    return &store;
  }

  object::MemoryStore store{kBucket, object::KeyRule::kBucket};
};

class LinkedObjectsTest : public ::testing::Test {
 protected:
  void keep(const std::string& key, std::string bytes) {
    bucket_.store.objects()[key] = {std::move(bytes), std::to_string(++puts_)};
  }
  Result<PutResult> link(bool mirror = false) {
    auto source = std::make_unique<LinkSource>(
        bucket_.store, kBucket, Time::from_millis(1'700'000'000'000), async::StopToken());
    PutOptions options;
    options.mirror = mirror;
    return data_.try_run(
        put_from(*data_.loop(), data_.volume(), std::move(source), std::move(options), {}));
  }
  FsckResult fsck() { return data_.run(check_volume(*data_.loop(), data_.volume(), {}, {})); }

  int puts_ = 0;
  OneBucket bucket_;
  MemoryVolume data_{MUST(async::EventLoop::create()), &bucket_};
};

TEST_F(LinkedObjectsTest, AreFilesWithoutACopyOfThem) {
  const std::string long_one = testing::noise(5'000'001, 1);
  keep("a/b", "1");
  keep("a/long", long_one);
  keep("empty", "");
  keep("folder/", "");
  const PutResult linked = MUST(link());
  EXPECT_EQ(linked.done.stored, 0);
  EXPECT_EQ(linked.done.bytes, 5'000'002);
  EXPECT_EQ(linked.manifest.totals.bytes, 5'000'002);
  EXPECT_EQ(data_.objects("p/"), 0);
  const Contents all{{"a/b", "1"}, {"a/long", long_one}, {"empty", ""}, {"folder/", ""}};
  EXPECT_TRUE(data_.contents() == all);
}

TEST_F(LinkedObjectsTest, TheSameObjectsAreTheSameVersion) {
  keep("a", "1");
  const std::string version = MUST(link()).manifest.version;
  EXPECT_EQ(MUST(link()).manifest.version, version);
  keep("a", "1");  // Put again: nobody knows that its bytes are the same.
  EXPECT_NE(MUST(link()).manifest.version, version);
}

TEST_F(LinkedObjectsTest, AreFoundByTheirBucketWhateverThePrefix) {
  Edit root = Edit::folder({});
  for (const char* const day : {"day1", "day2"}) {
    keep(std::string(day) + "/a", day);
    const std::string stamp = bucket_.store.objects().at(std::string(day) + "/a").etag;
    const auto object =
        std::make_shared<const LinkedObject>(LinkedObject{kBucket + "/" + day, "a", stamp});
    Edit& file = root.entries[day];
    file.node.size = 4;
    file.node.hash = linked_hash(*object);
    file.node.extents = {linked_extent(object, 4)};
  }
  data_.run(data_.volume().publish(root, {}, 0, ""));
  EXPECT_EQ(data_.contents(), (Contents{{"day1", "day1"}, {"day2", "day2"}}));
}

TEST_F(LinkedObjectsTest, AnObjectThatIsMarkedAsAFolderIsRefused) {
  keep("x", "DATA");
  keep("x/", "");
  EXPECT_EQ(link().error().code, Errc::kConflict);
  keep("x/y", "1");
  EXPECT_EQ(link().error().code, Errc::kConflict);
  bucket_.store.objects().erase("x");
  MUST(link());
  EXPECT_EQ(data_.contents(), (Contents{{"x/y", "1"}}));
}

TEST_F(LinkedObjectsTest, TwoObjectsOfOneNameAreRefused) {
  keep("x", "one");
  keep("x/", "two");
  EXPECT_EQ(link().error().code, Errc::kConflict);
}

TEST_F(LinkedObjectsTest, AFolderThatIsMarkedIsAFolder) {
  keep("", "");
  keep("a/", "");
  keep("a/b", "1");
  MUST(link());
  EXPECT_EQ(data_.contents(), (Contents{{"a/b", "1"}}));
}

TEST_F(LinkedObjectsTest, WhereNothingIsNothingIsLinked) {
  EXPECT_EQ(link(true).error().code, Errc::kNotFound);
  EXPECT_TRUE(data_.volume().head().recent.empty());
}

TEST_F(LinkedObjectsTest, TimesTellObjectsOfOneSecond) {
  keep("a", "old");
  MUST(link());
  const Node before = data_.node("a");
  keep("a", "new");
  MUST(link());
  EXPECT_EQ(data_.node("a").changed, before.changed);
  EXPECT_NE(data_.node("a").changed_nanos, before.changed_nanos);
}

TEST_F(LinkedObjectsTest, AMirrorLosesWhatTheBucketLost) {
  keep("a", "1");
  keep("b", "2");
  MUST(link());
  bucket_.store.objects().erase("a");
  MUST(link());
  EXPECT_TRUE(data_.try_content("b").ok());
  EXPECT_EQ(data_.try_content("a").error().code, Errc::kNotFound);
  MUST(link(true));
  EXPECT_EQ(data_.contents(), (Contents{{"b", "2"}}));
}

TEST_F(LinkedObjectsTest, AnotherObjectOfTheKeyIsNotTakenForIt) {
  keep("a", "first");
  keep("b", "2");
  MUST(link());
  keep("a", "other");
  const Error error = data_.try_content("a").error();
  EXPECT_EQ(error.code, Errc::kCorrupt);
  EXPECT_NE(error.message.find(kBucket + "/a is another object"), std::string::npos)
      << error.message;
  EXPECT_EQ(data_.content("b"), "2");
  const FsckResult found = fsck();
  ASSERT_EQ(found.damages.size(), 1U);
  EXPECT_EQ(found.damages[0].path, "a");
  EXPECT_EQ(found.files, 2);
}

TEST_F(LinkedObjectsTest, FsckReadsAByteOfEach) {
  keep("a", testing::noise(3'000'000, 1));
  MUST(link());
  EXPECT_TRUE(fsck().damages.empty());
  bucket_.store.objects().clear();
  EXPECT_EQ(fsck().damages.size(), 1U);
}

TEST_F(LinkedObjectsTest, GcLeavesThemAndWhatNamesThem) {
  const std::string bytes = testing::noise(3'000'000, 2);
  keep("a", bytes);
  MUST(link());
  for (int round = 0; round < 3; ++round) {
    data_.run(
        collect_garbage(*data_.loop(), env::real_clock(), data_.volume(), {.wait = false}, {}));
  }
  EXPECT_TRUE(data_.content("a") == bytes);
  EXPECT_EQ(bucket_.store.objects().size(), 1U);
}

TEST_F(LinkedObjectsTest, ACopyInTheVolumeIsTheSameObject) {
  const std::string bytes = testing::noise(2'500'000, 3);
  keep("a", bytes);
  MUST(link());
  Snapshot snapshot = data_.run(data_.volume().snapshot("latest"));
  Edit root = Edit::folder({});
  root.entries["c"] = data_.run(edit_of(snapshot, data_.run(snapshot.at("a")), {}));
  data_.run(data_.volume().publish(root, {}, 0, ""));
  EXPECT_TRUE(data_.content("c") == bytes);
  EXPECT_EQ(data_.objects("p/"), 0);
}

TEST_F(LinkedObjectsTest, ACopyInAnotherVolumeHasTheirBytes) {
  const std::string bytes = testing::noise(2'500'000, 4);
  keep("a", bytes);
  keep("b", "2");
  MUST(link());
  MemoryVolume other(data_.loop());
  const PutResult copied = data_.run(
      copy_between(*data_.loop(), data_.volume(), "latest", "", "", other.volume(), {}, {}));
  EXPECT_GT(copied.done.stored, 2'500'000);
  EXPECT_TRUE(other.contents() == (Contents{{"a", bytes}, {"b", "2"}}));
  EXPECT_TRUE(other.run(check_volume(*other.loop(), other.volume(), {}, {})).damages.empty());
}

TEST_F(LinkedObjectsTest, OlderBuildsAreToldOfThem) {
  data_.put({{"x", "1"}});
  EXPECT_TRUE(data_.volume().head().features.empty());
  keep("a", "1");
  MUST(link());
  EXPECT_EQ(data_.volume().head().features, std::vector<std::string>{"linked-objects"});
}

TEST_F(LinkedObjectsTest, AReaderFetchesThoseBehindAtTheSameTime) {
  for (int number = 100; number < 200; ++number) {
    keep(std::to_string(number), std::to_string(number));
  }
  MUST(link());
  Snapshot snapshot = data_.run(data_.volume().snapshot("latest"));
  PackCache cache(*data_.loop(), data_.volume().ranges(),
                  {.memory = std::make_shared<ReaderMemory>(1 << 20)}, {});
  FileReader reader(snapshot, cache);
  for (int number = 100; number < 200; ++number) {
    const std::string name = std::to_string(number);
    const Inode inode = data_.run(snapshot.at(name)).inode;
    const auto pieces = data_.run(reader.read(inode, 0, 1'000));
    ASSERT_EQ(pieces.size(), 1U);
    EXPECT_EQ(pieces[0].bytes, name);
    if (number == 101) {
      MUST(data_.loop()->block_on(data_.loop()->sleep(Duration::millis(20))));
      EXPECT_GE(cache.counts().fetches, 30);
    }
  }
  EXPECT_EQ(cache.counts().fetches, 100);
  MUST(data_.loop()->block_on(cache.close()));
}

TEST(LinkedExtent, IsReadAsItWasWritten) {
  const auto object = std::make_shared<const LinkedObject>(LinkedObject{kBucket, "a/b", "etag"});
  const Extent extent = linked_extent(object, std::uint64_t{5} << 30);
  EXPECT_EQ(MUST(decode_extents(encode_extents({extent}))), std::vector<Extent>{extent});
  Extent of_another = extent;
  of_another.linked = std::make_shared<const LinkedObject>(LinkedObject{kBucket, "a/c", "etag"});
  EXPECT_EQ(decode_extents(encode_extents({of_another})).error().code, Errc::kCorrupt);
  Extent part = extent;
  part.offset = 1;
  EXPECT_EQ(decode_extents(encode_extents({part})).error().code, Errc::kCorrupt);
  EXPECT_EQ(in_pieces({extent}).size(), 5U << 10);
}

TEST(LinkedExtent, OfWhichAnyObjectOrAnotherRequestWouldBeReadIsDamage) {
  for (const std::string stamp : {"", "two words", "a\"b", "x\r\nHost: elsewhere", "\x7F"}) {
    const LinkedObject object{kBucket, "a/b", stamp};
    const Extent extent = linked_extent(std::make_shared<const LinkedObject>(object), 1);
    EXPECT_EQ(decode_extents(encode_extents({extent})).error().code, Errc::kCorrupt) << stamp;
  }
}

}  // namespace
}  // namespace runnel::volume
