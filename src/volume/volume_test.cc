#include "volume/volume.h"

#include <map>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "async/gate.h"
#include "base/split_mix.h"
#include "env/clock.h"
#include "object/faulty_store.h"
#include "object/forwarding_store.h"
#include "object/memory/memory_store.h"
#include "object/retry_store.h"

namespace runnel::volume {
namespace {

class Numbers final : public env::Random {
 public:
  explicit Numbers(std::uint64_t seed) : numbers_(seed) {}
  std::uint64_t next() override { return numbers_.next(); }

 private:
  SplitMix64 numbers_;
};

Edit file_of(const std::string& content) {
  Edit edit;
  edit.node.size = content.size();
  edit.node.hash = hash::sha256(content);
  if (content.empty()) return edit;
  edit.node.extents = {{ObjectId::of(content, "12345678"), 8, content.size(), content.size(),
                        Codec::kRaw, block_sums(content)}};
  return edit;
}

// An edit of one file: "a/b/c".
Edit edit_of(const std::string& path, Edit leaf) {
  Edit root = Edit::folder();
  Edit* folder = &root;
  const std::vector<std::string> parts = MUST(path_parts(path));
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    folder = &folder->entries.try_emplace(parts[i], Edit::folder()).first->second;
  }
  folder->entries.emplace(parts.back(), std::move(leaf));
  return root;
}

Edit gone() {
  Edit edit;
  edit.gone = true;
  return edit;
}

class VolumeTest : public ::testing::Test {
 protected:
  VolumeContext context() { return {memory_, env::real_clock(), random_, {}}; }
  template <typename T>
  T run(Async<T> work) {
    return MUST(loop_->block_on(std::move(work)));
  }
  Manifest publish(Volume& volume, const Edit& edit) {
    return run(volume.publish(edit, {}, 0, ""));
  }
  std::vector<std::string> names(Snapshot& snapshot, const std::string& path) {
    std::vector<std::string> found;
    const Snapshot::Found folder = run(snapshot.at(path));
    for (const auto& entry : run(snapshot.list(folder.inode, "", 1'000))) {
      found.push_back(entry.name);
    }
    return found;
  }

  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  object::MemoryStore memory_;
  Numbers random_{1};
};

TEST_F(VolumeTest, IsMadeOnce) {
  const Volume made = run(Volume::create(context(), "data"));
  EXPECT_EQ(made.head().generation, 0);
  EXPECT_EQ(loop_->block_on(Volume::create(context(), "data")).error().code, Errc::kConflict);
  EXPECT_EQ(run(Volume::open(context(), "data")).head(), made.head());
  const Error none = loop_->block_on(Volume::open(context(), "other")).error();
  EXPECT_EQ(none.code, Errc::kNotFound);
  EXPECT_NE(none.hint.find("runnel volume create other"), std::string::npos);
  EXPECT_EQ(memory_.objects().size(), 1U) << "the probe is gone";
}

// Who reads a manifest takes 64 KiB: a longer one would be the last.
TEST_F(VolumeTest, RefusesAMessageThatNoManifestHasRoomFor) {
  Volume made = run(Volume::create(context(), "data"));
  const std::string worst(4'096, '\x01');
  const Edit edit = edit_of("a", file_of("one"));
  const Error error = loop_->block_on(made.publish(edit, {}, 0, worst + "\x01")).error();
  EXPECT_EQ(error.code, Errc::kInvalid);
  EXPECT_EQ(error.field, "message");
  const Manifest published = run(made.publish(edit, {}, 0, worst));
  Volume opened = run(Volume::open(context(), "data"));
  EXPECT_EQ(run(opened.snapshot("latest")).manifest(), published);
}

TEST_F(VolumeTest, AManifestOfAnotherVersionIsDamage) {
  Volume made = run(Volume::create(context(), "data"));
  const Manifest first = publish(made, edit_of("a", file_of("one")));
  publish(made, edit_of("b", file_of("two")));
  run(made.change_head([](const Head& now) -> Result<Head> {
    Head next = now;
    std::swap(next.recent[0].version, next.recent[1].version);
    return next;
  }));
  Volume opened = run(Volume::open(context(), "data"));
  const Result<Snapshot> read = loop_->block_on(opened.snapshot(first.version));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Errc::kCorrupt);
}

TEST_F(VolumeTest, AHeadThatWasPutBackAndChangedIsNoLaterOne) {
  Volume made = run(Volume::create(context(), "data"));
  publish(made, edit_of("a", file_of("one")));
  const auto backup = memory_.objects().at("data/head");
  publish(made, edit_of("b", file_of("two")));
  memory_.objects().at("data/head") = backup;
  run(made.refresh());
  EXPECT_EQ(made.head().generation, 2) << "an answer that is late";
  Volume other = run(Volume::open(context(), "data"));
  publish(other, edit_of("c", file_of("three")));
  EXPECT_EQ(loop_->block_on(made.refresh()).error().code, Errc::kConflict);
  EXPECT_EQ(loop_->block_on(made.publish(edit_of("d", file_of("four")), {}, 0, "")).error().code,
            Errc::kConflict);
}

TEST_F(VolumeTest, IsOpenedByAHeadThatWasSeen) {
  Volume made = run(Volume::create(context(), "data"));
  const Manifest first = publish(made, edit_of("a", file_of("one")));
  const SeenHead seen = made.seen_head();
  object::MemoryStore nothing;
  Volume opened = run(Volume::open_seen({nothing, env::real_clock(), random_, {}}, "data", seen));
  EXPECT_EQ(opened.head(), made.head());
  EXPECT_EQ(opened.seen_head(), seen);
  EXPECT_EQ(MUST(opened.place_of("latest")).version, first.version);
  EXPECT_EQ(loop_->block_on(opened.begin_reading(session_of_this_process("get"), first.version))
                .error()
                .code,
            Errc::kNotFound)
      << "the volume is no more";
  const SeenHead torn{seen.text.substr(0, seen.text.size() / 2), seen.etag};
  EXPECT_EQ(loop_->block_on(Volume::open_seen(context(), "data", torn)).error().code,
            Errc::kCorrupt);
}

TEST_F(VolumeTest, WhatAHeadHadThatWasSeenIsHeldOrSaidToBeGone) {
  Volume made = run(Volume::create(context(), "data"));
  const Manifest first = publish(made, edit_of("a", file_of("one")));
  const SeenHead seen = made.seen_head();
  publish(made, edit_of("b", file_of("two")));
  Volume late = run(Volume::open_seen(context(), "data", seen));
  Snapshot held = run(late.begin_reading(session_of_this_process("get"), first.version));
  EXPECT_EQ(names(held, ""), std::vector<std::string>{"a"});
  run(late.end_session());
  // As a gc does that packs the newest version anew: it has another manifest from then on.
  const std::string second = made.head().newest()->version;
  const SeenHead before = made.seen_head();
  Manifest again = run(made.manifest_at(*made.head().newest()));
  again.message = "at other places";
  run(made.begin_writing(session_of_this_process("gc")));
  ASSERT_TRUE(run(made.publish_manifest(again, made.head().generation, true,
                                        [] { return std::set<std::string>(); })));
  run(made.end_session());
  ASSERT_EQ(made.head().newest()->version, second);
  Volume moved = run(Volume::open_seen(context(), "data", before));
  Snapshot kept = run(moved.begin_reading(session_of_this_process("get"), second));
  EXPECT_EQ(kept.manifest().message, "at other places");
  run(moved.end_session());
  run(made.change_head([](const Head& now) {
    Head next = now;
    std::erase_if(next.recent, [&](const auto& place) { return place.key != now.newest()->key; });
    return next;
  }));
  Volume later = run(Volume::open_seen(context(), "data", seen));
  EXPECT_EQ(loop_->block_on(later.begin_reading(session_of_this_process("get"), first.version))
                .error()
                .code,
            Errc::kNotFound);
}

TEST_F(VolumeTest, APinnedManifestThatIsNoMoreIsNoneThoughItWasReadBefore) {
  Volume volume = run(Volume::create(context(), "data"));
  const Manifest first = publish(volume, edit_of("a", file_of("one")));
  const VersionPlace place = MUST(volume.place_of(first.version));
  publish(volume, edit_of("b", file_of("two")));
  EXPECT_EQ(run(volume.manifest_at(place)), first);
  EXPECT_TRUE(run(volume.pinned_manifest(place.key)));
  run(memory_.remove("data/" + place.key, {}));
  EXPECT_FALSE(run(volume.pinned_manifest(place.key)));
}

// Removes the first objects that are put into it, as a gc does that takes their owner for dead.
class SweptStore final : public object::ForwardingStore {
 public:
  SweptStore(object::ObjectStore& inner, int removals)
      : ForwardingStore(inner), removals_(removals) {}

  Async<std::string> put(std::string key, object::Body bytes, object::Condition condition,
                         async::StopToken stop) override {
    const std::string etag =
        CO_TRY(co_await inner().put(key, std::move(bytes), std::move(condition), stop));
    if (removals_-- > 0) CO_TRY(co_await inner().remove(std::move(key), stop));
    co_return etag;
  }

 private:
  int removals_;
};

TEST_F(VolumeTest, AStoreIsNotAccusedOfWhatAGcDid) {
  SweptStore swept(memory_, 1);
  EXPECT_TRUE(
      loop_->block_on(Volume::create({swept, env::real_clock(), random_, {}}, "data")).ok());
}

TEST_F(VolumeTest, AStoreThatForgetsIsRefused) {
  SweptStore swept(memory_, 1'000);
  const Result<Volume> made =
      loop_->block_on(Volume::create({swept, env::real_clock(), random_, {}}, "data"));
  EXPECT_EQ(made.error().code, Errc::kUnsupported);
  EXPECT_TRUE(memory_.objects().empty());
}

TEST_F(VolumeTest, RefusesNamesThatAreNone) {
  for (const char* name : {"", "A", "-a", "a/b", "a b", "."}) {
    EXPECT_EQ(loop_->block_on(Volume::create(context(), name)).error().code, Errc::kInvalid);
  }
}

TEST_F(VolumeTest, AVersionIsWhatWasPutOverTheOneBefore) {
  Volume volume = run(Volume::create(context(), "data"));
  const Manifest first = publish(volume, edit_of("a/b/one", file_of("1")));
  const Manifest second = publish(volume, edit_of("a/two", file_of("22")));
  EXPECT_EQ(second.parent, first.version);
  EXPECT_EQ(second.totals.files, 2);
  EXPECT_EQ(second.totals.folders, 3);
  EXPECT_EQ(second.totals.bytes, 3);
  Snapshot newest = run(volume.snapshot("latest"));
  EXPECT_EQ(names(newest, "a"), (std::vector<std::string>{"b", "two"}));
  EXPECT_EQ(run(newest.at("/a/b/one")).node.hash, hash::sha256("1"));
  Snapshot before = run(volume.snapshot(first.version.substr(0, 6)));
  EXPECT_EQ(names(before, "a"), (std::vector<std::string>{"b"}));
  EXPECT_EQ(loop_->block_on(before.at("a/two")).error().code, Errc::kNotFound);
  EXPECT_EQ(loop_->block_on(volume.snapshot("nothing")).error().code, Errc::kNotFound);
}

TEST_F(VolumeTest, TheSameTreeIsTheSameVersionHoweverItCameAbout) {
  Volume one = run(Volume::create(context(), "one"));
  Volume other = run(Volume::create(context(), "other"));
  const Manifest first = publish(one, edit_of("a", file_of("1")));
  EXPECT_EQ(publish(other, edit_of("a", file_of("1"))).version, first.version);
  publish(one, edit_of("b/c", file_of("2")));
  publish(other, edit_of("b/c", file_of("other")));
  const Manifest replaced = publish(other, edit_of("b/c", file_of("2")));
  EXPECT_EQ(replaced.tree, run(one.snapshot("latest")).manifest().tree);
  EXPECT_EQ(replaced.totals.files, 2);
}

TEST_F(VolumeTest, WhatChangesNothingIsNoVersion) {
  Volume volume = run(Volume::create(context(), "data"));
  const Manifest first = publish(volume, edit_of("a", file_of("1")));
  EXPECT_EQ(publish(volume, edit_of("a", file_of("1"))), first);
  EXPECT_EQ(volume.head().generation, 1);
}

TEST_F(VolumeTest, RemovesFilesAndWholeFolders) {
  Volume volume = run(Volume::create(context(), "data"));
  const Manifest first = publish(volume, edit_of("keep", file_of("1")));
  publish(volume, edit_of("a/b/one", file_of("2")));
  publish(volume, edit_of("a/two", file_of("3")));
  const Manifest last = publish(volume, edit_of("a", gone()));
  EXPECT_EQ(last.tree, first.tree);
  EXPECT_EQ(last.totals, first.totals);
  Edit whole = Edit::folder();
  whole.whole = true;
  whole.entries.emplace("only", file_of("4"));
  publish(volume, whole);
  Snapshot newest = run(volume.snapshot("latest"));
  EXPECT_EQ(names(newest, ""), (std::vector<std::string>{"only"}));
}

TEST_F(VolumeTest, AFolderTakesNoFilesPlace) {
  Volume volume = run(Volume::create(context(), "data"));
  publish(volume, edit_of("a", file_of("1")));
  const Error error =
      loop_->block_on(volume.publish(edit_of("a/b", file_of("2")), {}, 0, "")).error();
  EXPECT_EQ(error.code, Errc::kConflict);
  EXPECT_EQ(error.value, "a");
}

TEST_F(VolumeTest, ALongFilesExtentsAreRecordsOfTheirOwn) {
  Volume volume = run(Volume::create(context(), "data"));
  Edit file;
  for (int chunk = 0; chunk < 1'000; ++chunk) {
    const std::string bytes(100 + chunk, 'x');
    file.node.extents.push_back({ObjectId::of(bytes, "12345678"), 8, bytes.size(), bytes.size(),
                                 Codec::kRaw, block_sums(bytes)});
    file.node.size += bytes.size();
  }
  publish(volume, edit_of("long", file));
  Snapshot newest = run(volume.snapshot("latest"));
  const Snapshot::Found found = run(newest.at("long"));
  EXPECT_TRUE(found.node.extents.empty());
  EXPECT_EQ(run(newest.extents(found.inode, found.node)), file.node.extents);
  publish(volume, edit_of("long", gone()));
  Snapshot after = run(volume.snapshot("latest"));
  EXPECT_FALSE(run(find(after.pages(), after.manifest().inodes, inode_key(found.inode))));
  EXPECT_FALSE(run(find(after.pages(), after.manifest().inodes, extents_key(found.inode, 0))));
}

TEST_F(VolumeTest, ADamagedObjectIsNamed) {
  Volume volume = run(Volume::create(context(), "data"));
  publish(volume, edit_of("a", file_of("1")));
  for (auto& [key, object] : memory_.objects()) {
    if (key.find("/i/") == std::string::npos) continue;
    object.bytes[20] = static_cast<char>(object.bytes[20] ^ 1);
    Volume again = run(Volume::open(context(), "data"));
    Snapshot snapshot = run(again.snapshot("latest"));
    const Error error = loop_->block_on(snapshot.at("a")).error();
    EXPECT_EQ(error.code, Errc::kCorrupt) << error.to_string();
    EXPECT_NE(error.message.find("i/"), std::string::npos);
  }
}

// Writers of their own, over a store that loses and repeats requests: whatever each is told was
// published is in the last version, and what failed is not there by half.
TEST_F(VolumeTest, ManyWritersOverABadNetworkLoseNothing) {
  object::StoreFaults faults{.lost_before = 60,
                             .lost_after = 60,
                             .late = 0,
                             .doubled = 60,
                             .congested = 30,
                             .contended = 60,
                             .flipped = 0,
                             .latency_max = Duration::millis(1),
                             .late_max = Duration::millis(2)};
  run(Volume::create(context(), "data"));
  object::RetryOptions options;
  options.tries = 20;
  options.first_pause = options.pause_max = Duration::millis(1);
  constexpr int kWriters = 6;
  constexpr int kFiles = 8;
  async::Gate gate(*loop_);
  std::vector<std::unique_ptr<object::FaultyStore>> networks;
  std::vector<std::unique_ptr<object::RetryStore>> stores;
  std::map<std::string, bool> told;
  const auto write = [](VolumeContext context, int writer,
                        std::map<std::string, bool>& published) -> Async<void> {
    Volume volume = CO_TRY(co_await Volume::open(std::move(context), "data"));
    for (int number = 0; number < kFiles; ++number) {
      const std::string path = "w" + std::to_string(writer) + "/" + std::to_string(number);
      const Edit edit = edit_of(path, file_of(path));
      const Result<Manifest> done = co_await volume.publish(edit, {}, 0, "");
      published[path] = done.ok();
    }
    co_return {};
  };
  for (int writer = 0; writer < kWriters; ++writer) {
    networks.push_back(std::make_unique<object::FaultyStore>(*loop_, memory_, faults, writer));
    stores.push_back(std::make_unique<object::RetryStore>(*loop_, env::real_clock(), random_,
                                                          *networks.back(), options));
    MUST(loop_->spawn(gate, write({*stores.back(), env::real_clock(), random_, {}}, writer, told)));
  }
  while (gate.inside() > 0) run(loop_->sleep(Duration::millis(1)));
  run(gate.close());
  for (const auto& network : networks) run(network->stop());
  Volume volume = run(Volume::open(context(), "data"));
  Snapshot newest = run(volume.snapshot("latest"));
  int published = 0;
  for (const auto& [path, done] : told) {
    if (!done) continue;
    ++published;
    EXPECT_EQ(run(newest.at(path)).node.hash, hash::sha256(path)) << path;
  }
  EXPECT_GT(published, kWriters * kFiles / 2);
  EXPECT_GE(volume.head().generation, published);
}

}  // namespace
}  // namespace runnel::volume
