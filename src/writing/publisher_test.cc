#include "writing/publisher.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "env/clock.h"
#include "env/testing/temporary_directory.h"
#include "volume/session.h"
#include "volume/testing/disturbed_store.h"
#include "volume/testing/memory_volume.h"
#include "writing/log_folder.h"
#include "writing/testing/log_disk.h"

namespace runnel::writing {
namespace {

using volume::Volume;
using volume::testing::Contents;
using volume::testing::MemoryVolume;
using volume::testing::noise;
using volume::testing::SilentStore;

// A branch over a version in memory, with a log on the disk. Its files are known by their paths.
class PathBranch {
 public:
  using Files = std::function<std::unique_ptr<LogFiles>()>;

  PathBranch(MemoryVolume& data, Files files) : data_(data), log_(std::move(files)) {
    const std::string newest = data_.volume().head().newest_version();
    if (!newest.empty()) files_ = data_.contents();
    open(newest);
  }
  ~PathBranch() { close(); }
  PathBranch(const PathBranch&) = delete;
  PathBranch& operator=(const PathBranch&) = delete;

  // As after a kill: only the log is left.
  void reopen() {
    close();
    open("");
  }

  void write(const std::string& path, std::uint64_t offset, const std::string& bytes) {
    const Inode file = take(path);
    for (std::size_t at = 0; at < bytes.size(); at += Write::kBytesMax) {
      change(Write{file, offset + at, now(), bytes.substr(at, Write::kBytesMax)});
    }
    change(Commit{file});
    std::string& content = files_.at(path);
    if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size(), '\0');
    content.replace(offset, bytes.size(), bytes);
  }
  // What the log refuses, or loses; it has failed afterwards.
  void try_write(const std::string& path) {
    const Inode file = take(path);
    const auto logged =
        branch_->change({.request = {}, .change = Write{file, 0, now(), "lost, not committed"}});
    if (logged.ok()) EXPECT_FALSE(data_.try_run(branch_->written(logged->sequence)).ok());
  }
  void create(const std::string& path, const std::string& bytes) {
    const Place at = place_of(path);
    inodes_[path] = make(at, volume::NodeKind::kFile);
    files_[path] = "";
    write(path, 0, bytes);
  }
  void make_folder(const std::string& path) {
    inodes_[path] = make(place_of(path), volume::NodeKind::kFolder);
  }
  void remove(const std::string& path) {
    const Inode file = take(path);
    change(Unlink{place_of(path), file, now()});
    if (overlay().find(file)->places.empty()) change(Closed{file});
    inodes_.erase(path);
    files_.erase(path);
  }
  void rename(const std::string& from, const std::string& to) {
    const Inode file = take(from);
    change(Rename{.from = place_of(from), .to = place_of(to), .moved = file, .when = now()});
    inodes_[to] = file;
    files_[to] = files_.at(from);
    files_.erase(from);
  }
  void link(const std::string& path, const std::string& name) {
    const Inode file = take(path);
    change(Link{file, place_of(name), now()});
    inodes_[name] = file;
    files_[name] = files_.at(path);
  }
  void set_mode(const std::string& path, std::uint32_t mode) {
    change(SetAttributes{.inode = take(path), .mode = mode, .when = now()});
  }

  Result<std::optional<volume::Manifest>> try_publish(Volume& volume) {
    Publisher publisher(*data_.loop(), volume, *branch_);
    return data_.try_run(publisher.publish("by a test"));
  }
  Result<std::optional<volume::Manifest>> try_set_aside(Volume& volume, const std::string& tag) {
    Publisher publisher(*data_.loop(), volume, *branch_);
    return data_.try_run(publisher.publish_aside("set aside", [tag] { return tag; }));
  }
  Result<void> try_begin_anew(Volume& volume) {
    Publisher publisher(*data_.loop(), volume, *branch_);
    return data_.try_run(publisher.begin_anew());
  }
  const Contents& files() const { return files_; }
  const Overlay& overlay() const { return branch_->overlay(); }
  Branch& branch() { return *branch_; }

 private:
  void open(std::string base) {
    branch_ = data_.run(Branch::open(
        *data_.loop(),
        {.files = log_(), .owner = {"uuid", "main"}, .nonce = 7, .segment = Bytes::mebi(8)},
        std::move(base)));
  }
  void close() {
    data_.run(branch_->written(branch_->last()));
    data_.run(branch_->stop());
    branch_.reset();
  }
  Moment now() { return {++time_, 0}; }
  void change(Change what) { MUST(branch_->change({.request = {}, .change = std::move(what)})); }
  static std::string above(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "" : path.substr(0, slash);
  }
  Place place_of(const std::string& path) {
    return {take(above(path)), path.substr(path.rfind('/') + 1)};
  }
  Inode make(const Place& at, volume::NodeKind kind) {
    const Inode made = next_++;
    change(
        Create{.at = at, .inode = made, .kind = kind, .mode = 0644, .target = "", .when = now()});
    return made;
  }
  // The node, which the overlay has from now on.
  Inode take(const std::string& path) {
    if (path.empty()) return adopted(volume::kRootInode, path);
    if (const auto made = inodes_.find(path); made != inodes_.end())
      return adopted(made->second, path);
    volume::Snapshot base = data_.run(data_.volume().snapshot("latest"));
    return adopted(data_.run(base.at(path)).inode, path);
  }
  Inode adopted(Inode inode, const std::string& path) {
    if (overlay().find(inode) != nullptr) return inode;
    if (overlay().base()->empty()) {
      change(Adopt{.inode = volume::kRootInode, .kind = volume::NodeKind::kFolder, .mode = 0755});
      return inode;
    }
    volume::Snapshot base = data_.run(data_.volume().snapshot("latest"));
    const volume::Node node = data_.run(base.node(inode));
    Adopt adopt{.inode = inode, .kind = node.kind, .mode = node.mode};
    for (const auto& [name, made] : inodes_) {
      if (made == inode) adopt.places.push_back(place_of(name));
    }
    if (adopt.places.empty() && !path.empty()) adopt.places.push_back(place_of(path));
    adopt.size = node.size;
    adopt.modified = adopt.accessed = adopt.changed = {node.changed, node.changed_nanos};
    change(adopt);
    return inode;
  }

  MemoryVolume& data_;
  const Files log_;
  std::unique_ptr<Branch> branch_;
  Contents files_;
  std::map<std::string, Inode> inodes_;  // Of what was made or moved here.
  Inode next_ = 1'000;
  std::int64_t time_ = 2'000'000'000;
};

class PublisherTest : public ::testing::Test {
 protected:
  static Contents first() {
    return {{"a/old", noise(400'000, 1)}, {"a/kept", "kept"}, {"b", "bee"}, {"c/gone", "gone"}};
  }
  static void change_some(PathBranch& branch) {
    branch.write("a/old", 200'000, noise(5'000, 2));
    branch.make_folder("d");
    branch.create("d/new", noise(300'000, 3));
    branch.remove("c/gone");
    branch.rename("b", "d/bee");
    branch.set_mode("a/kept", 0600);
  }
  PathBranch::Files on_disk(const std::string& name) {
    return [path = home_.path() + "/" + name] { return MUST(LogFolder::open(path)); };
  }
  Volume& volume() { return data_.volume(); }
  Async<void> tag() {
    CO_TRY(co_await volume().refresh());
    co_return co_await volume().change_head([](const volume::Head& now) {
      volume::Head next = now;
      next.tags["meanwhile"] = *now.newest();
      return Result<volume::Head>(next);
    });
  }
  void put_by_another(const Contents& files) {
    Volume other =
        data_.run(Volume::open({data_.store(), env::real_clock(), data_.random(), {}}, "data"));
    data_.run(
        volume::put_tree(*data_.loop(), other, volume::testing::source_of_contents(files), {}, {}));
    data_.run(volume().refresh());
  }
  void begin() { data_.run(volume().begin_writing(volume::session_of_this_process("mount"))); }

  MemoryVolume data_;
  env::testing::TemporaryDirectory home_;
};

TEST_F(PublisherTest, AVersionHasWhatWasCommitted) {
  data_.put(first());
  begin();
  PathBranch branch(data_, on_disk("log"));
  EXPECT_EQ(MUST(branch.try_publish(volume())), std::nullopt) << "nothing was changed";
  change_some(branch);
  const auto version = MUST(branch.try_publish(volume()));
  ASSERT_TRUE(version.has_value());
  EXPECT_EQ(version->message, "by a test");
  EXPECT_EQ(version->parent_key.empty(), false);
  Contents expected = branch.files();
  expected["c/"] = "";
  EXPECT_EQ(data_.contents(), expected);
  EXPECT_EQ(data_.node("a/kept").mode, 0600U);
  EXPECT_EQ(branch.overlay().base(), version->version);
  EXPECT_TRUE(branch.overlay().nodes().empty()) << "all of it is the base's";
  EXPECT_EQ(MUST(branch.try_publish(volume())), std::nullopt) << "once";
  branch.write("d/new", 0, "again");
  EXPECT_TRUE(MUST(branch.try_publish(volume())).has_value());
  EXPECT_EQ(data_.content("d/new"), branch.files().at("d/new"));
  data_.run(volume().end_session());
}

// More than are stored together, and longer ones, empty ones and ones with holes between them.
TEST_F(PublisherTest, FilesOfAllLengthsAreInAVersion) {
  begin();
  PathBranch branch(data_, on_disk("log"));
  branch.make_folder("many");
  for (std::uint64_t number = 0; number < 60; ++number) {
    const std::string name = "many/" + std::to_string(number);
    const std::size_t size = number % 10 == 0 ? 0 : number % 7 == 0 ? 400'000 : number * 3'000;
    branch.create(name, noise(size, number));
    if (number % 9 == 0) branch.write(name, size + 500'000, "behind a hole");
    if (number % 4 == 0) branch.write(name, 0, "written again");
  }
  branch.create("twice", noise(200'000, 1'000));
  branch.create("the same", noise(200'000, 1'000));
  ASSERT_TRUE(MUST(branch.try_publish(volume())).has_value());
  EXPECT_EQ(data_.contents(), branch.files());
  data_.run(volume().end_session());
}

TEST_F(PublisherTest, OfAnEmptyVolumeTheFirstVersion) {
  begin();
  PathBranch branch(data_, on_disk("log"));
  branch.create("one", "1");
  ASSERT_TRUE(MUST(branch.try_publish(volume())).has_value());
  EXPECT_EQ(data_.contents(), branch.files());
  data_.run(volume().end_session());
}

TEST_F(PublisherTest, ATagOrAListOfGarbageMeanwhileIsNobodysVersion) {
  data_.put(first());
  PathBranch branch(data_, on_disk("log"));
  change_some(branch);
  volume::testing::BusyStore busy(data_.store(), "data/head", [this] { return tag(); });
  Volume other = data_.run(Volume::open({busy, env::real_clock(), data_.random(), {}}, "data"));
  data_.run(other.begin_writing(volume::session_of_this_process("mount")));
  ASSERT_TRUE(MUST(branch.try_publish(other)).has_value());
  data_.run(volume().refresh());
  EXPECT_EQ(data_.newest().version, branch.overlay().base());
  EXPECT_TRUE(volume().head().tags.contains("meanwhile"));
  data_.run(other.end_session());
}

// One that an earlier life had begun, and what was changed since.
TEST_F(PublisherTest, APublishHasAllThatWasCommittedBefore) {
  data_.put(first());
  begin();
  PathBranch branch(data_, on_disk("log"));
  change_some(branch);
  MUST(branch.branch().change({.request = {}, .change = Barrier{branch.branch().last() + 1}}));
  branch.write("d/new", 7, "since the barrier");
  ASSERT_TRUE(MUST(branch.try_publish(volume())).has_value());
  EXPECT_EQ(data_.content("d/new"), branch.files().at("d/new"));
  EXPECT_FALSE(branch.overlay().has_to_publish());
  data_.run(volume().end_session());
}

// The tree is the same whether a file has two names or there are two files, which is what counts.
TEST_F(PublisherTest, TheSameTreeOfMoreFilesCountsThese) {
  begin();
  PathBranch branch(data_, on_disk("log"));
  branch.create("one", "1");
  branch.link("one", "two");
  const auto linked = MUST(branch.try_publish(volume()));
  EXPECT_EQ(linked->totals.files, 1);
  branch.remove("two");
  branch.create("two", "1");
  const auto same = MUST(branch.try_publish(volume()));
  EXPECT_EQ(same->version, linked->version);
  EXPECT_EQ(same->totals.files, 2);
  branch.remove("one");
  branch.remove("two");
  EXPECT_EQ(MUST(branch.try_publish(volume()))->totals.files, 0);
  data_.run(volume().end_session());
}

TEST_F(PublisherTest, WhatSomebodyElsePublishedIsNotReplaced) {
  data_.put(first());
  begin();
  PathBranch branch(data_, on_disk("log"));
  change_some(branch);
  put_by_another({{"theirs", "x"}});
  EXPECT_EQ(branch.try_publish(volume()).error().code, Errc::kConflict);
  EXPECT_EQ(data_.content("theirs"), "x");
  data_.run(volume().end_session());
}

TEST_F(PublisherTest, SetAsideItIsAVersionOnItsOwnBaseAndTheNewestStays) {
  data_.put(first());
  begin();
  PathBranch branch(data_, on_disk("log"));
  change_some(branch);
  const std::string base = data_.newest().version;
  put_by_another({{"theirs", "x"}});
  const auto aside = MUST(branch.try_set_aside(volume(), "mine"));
  ASSERT_TRUE(aside.has_value());
  EXPECT_EQ(aside->parent, base);
  const volume::VersionPlace parent = MUST(volume().place_of(base));
  EXPECT_EQ(aside->parent_key, parent.key);
  Contents expected = branch.files();
  expected["c/"] = "";
  EXPECT_EQ(data_.contents("mine"), expected);
  EXPECT_EQ(data_.content("theirs"), "x");
  EXPECT_EQ(branch.overlay().base(), aside->version);
  EXPECT_FALSE(branch.overlay().has_to_publish());
  EXPECT_EQ(MUST(branch.try_set_aside(volume(), "again")), std::nullopt);
  data_.run(volume().end_session());
}

TEST_F(PublisherTest, OfAnEmptyVolumeItIsSetAsideOnNothing) {
  begin();
  PathBranch branch(data_, on_disk("log"));
  branch.create("one", "1");
  put_by_another({{"theirs", "x"}});
  ASSERT_TRUE(MUST(branch.try_set_aside(volume(), "mine")).has_value());
  EXPECT_EQ(data_.contents("mine"), branch.files());
  EXPECT_EQ(data_.contents(), (Contents{{"theirs", "x"}}));
  data_.run(volume().end_session());
}

TEST_F(PublisherTest, WithoutRoomForATagItStaysInTheLog) {
  data_.put(first());
  begin();
  PathBranch branch(data_, on_disk("log"));
  change_some(branch);
  put_by_another({{"theirs", "x"}});
  const auto fill = [](const volume::Head& now) {
    volume::Head next = now;
    for (std::size_t at = 0; at < volume::Head::kTagsMax; ++at) {
      next.tags["tag-" + std::to_string(at)] = *now.newest();
    }
    return Result<volume::Head>(next);
  };
  data_.run(volume().change_head(fill));
  EXPECT_EQ(branch.try_set_aside(volume(), "mine").error().code, Errc::kFull);
  data_.run(volume().change_head([](const volume::Head& now) {
    volume::Head next = now;
    next.tags.erase("tag-0");
    return Result<volume::Head>(next);
  }));
  ASSERT_TRUE(MUST(branch.try_set_aside(volume(), "mine")).has_value());
  EXPECT_EQ(data_.content("a/old", "mine"), branch.files().at("a/old"));
  data_.run(volume().end_session());
}

TEST_F(PublisherTest, ADiskThatFailsInAPublishLosesNothing) {
  data_.put(first());
  begin();
  testing::LogDisk disk;
  PathBranch branch(data_, [&disk] { return disk.open(); });
  change_some(branch);
  disk.fail_next_sync();
  EXPECT_EQ(branch.try_publish(volume()).error().code, Errc::kIo);
  EXPECT_EQ(branch.try_publish(volume()).error().code, Errc::kIo) << "the log takes no more";
  MUST(branch.try_begin_anew(volume()));
  branch.write("d/new", 100, "more");
  branch.reopen();
  ASSERT_TRUE(MUST(branch.try_publish(volume())).has_value());
  Contents expected = branch.files();
  expected["c/"] = "";
  EXPECT_EQ(data_.contents(), expected);
  data_.run(volume().end_session());
}

class PublisherInDoubtTest : public PublisherTest {
 protected:
  // A publish that nobody has heard of, and then a log that has failed.
  void fail_in_doubt(SilentStore& store, PathBranch& branch) {
    dying_.emplace(data_.run(Volume::open({store, env::real_clock(), data_.random(), {}}, "data")));
    data_.run(dying_->begin_writing(volume::session_of_this_process("mount")));
    change_some(branch);
    store.wait();
    EXPECT_EQ(branch.try_publish(*dying_).error().code, Errc::kUnavailable);
    EXPECT_FALSE(branch.overlay().frozen()->publishing.empty());
    disk_.fail_next_write();
    branch.try_write("a/kept");
    store.answer();
  }
  void expect_published(PathBranch& branch) {
    Contents expected = branch.files();
    expected["c/"] = "";
    data_.run(volume().refresh());
    EXPECT_EQ(data_.contents(), expected);
    data_.run(dying_->end_session());
  }

  testing::LogDisk disk_;
  std::optional<Volume> dying_;
};

TEST_F(PublisherInDoubtTest, WhatCameThroughIsPublishedWhenTheLogGoesOn) {
  data_.put(first());
  SilentStore store(data_.store(), SilentStore::Swap::kDone);
  PathBranch branch(data_, [this] { return disk_.open(); });
  fail_in_doubt(store, branch);
  MUST(branch.try_begin_anew(*dying_));
  EXPECT_FALSE(branch.overlay().frozen());
  EXPECT_EQ(branch.overlay().base(), dying_->head().newest()->version);
  const std::string came_through = *branch.overlay().base();
  MUST(branch.try_publish(*dying_));
  EXPECT_EQ(branch.overlay().base(), came_through) << "nothing else was committed";
  expect_published(branch);
}

TEST_F(PublisherInDoubtTest, WhatComesLaterThanTheLogGoesOnDoesNotComeThrough) {
  data_.put(first());
  const std::string before = data_.newest().version;
  SilentStore store(data_.store(), SilentStore::Swap::kLate);
  PathBranch branch(data_, [this] { return disk_.open(); });
  fail_in_doubt(store, branch);
  MUST(branch.try_begin_anew(*dying_));
  EXPECT_EQ(data_.try_run(store.arrive()).error().code, Errc::kPrecondition);
  EXPECT_EQ(branch.overlay().base(), before);
  branch.write("d/new", 100, "more");
  EXPECT_TRUE(MUST(branch.try_publish(*dying_)).has_value());
  expect_published(branch);
}

// Whatever the moment, the next life makes the version, and only once.
TEST_F(PublisherTest, KilledBeforeAnyPutItIsPublishedByTheNextLife) {
  int killed = 0;
  for (int puts = 1;; ++puts) {
    SCOPED_TRACE("killed after " + std::to_string(puts) + " puts");
    MemoryVolume data(data_.loop());
    data.put(first());
    const std::string before = data.newest().version;
    PathBranch branch(data, on_disk("log" + std::to_string(puts)));
    change_some(branch);
    volume::testing::ShortLivedStore mortal(data.store(), puts);
    bool is_whole = false;
    {
      Volume dying = data.run(Volume::open({mortal, env::real_clock(), data.random(), {}}, "data"));
      data.run(dying.begin_writing(volume::session_of_this_process("mount")));
      is_whole = branch.try_publish(dying).ok();
    }
    killed += is_whole ? 0 : 1;
    branch.reopen();
    data.run(data.volume().refresh());
    data.run(data.volume().begin_writing(volume::session_of_this_process("mount")));
    MUST(branch.try_publish(data.volume()));
    data.run(data.volume().end_session());
    Contents expected = branch.files();
    expected["c/"] = "";
    EXPECT_EQ(data.contents(), expected);
    EXPECT_EQ(data.newest().parent, before) << "one version";
    EXPECT_TRUE(branch.overlay().nodes().empty());
    if (is_whole) break;
  }
  EXPECT_GE(killed, 4) << "a pack, pages, the manifest, the head";
}

}  // namespace
}  // namespace runnel::writing
