#include "writing/publisher.h"

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

namespace runnel::writing {
namespace {

using volume::Volume;
using volume::testing::Contents;
using volume::testing::MemoryVolume;
using volume::testing::noise;

// A branch over a version in memory, with a log on the disk. Its files are known by their paths.
class Branch {
 public:
  Branch(MemoryVolume& data, std::string folder) : data_(data), folder_(std::move(folder)) {
    const bool is_empty = data_.volume().head().newest() == nullptr;
    if (!is_empty) files_ = data_.contents();
    open();
    if (!overlay_.base()) change(Based{is_empty ? "" : data_.newest().version});
  }
  ~Branch() { close(); }
  Branch(const Branch&) = delete;
  Branch& operator=(const Branch&) = delete;

  // As after a kill: only the log is left.
  void reopen() {
    close();
    open();
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
    change(Closed{file});
    files_.erase(path);
  }
  void rename(const std::string& from, const std::string& to) {
    const Inode file = take(from);
    change(Rename{.from = place_of(from), .to = place_of(to), .moved = file, .when = now()});
    inodes_[to] = file;
    files_[to] = files_.at(from);
    files_.erase(from);
  }
  void set_mode(const std::string& path, std::uint32_t mode) {
    change(SetAttributes{.inode = take(path), .mode = mode, .when = now()});
  }

  Result<std::optional<volume::Manifest>> try_publish(Volume& volume) {
    Publisher publisher(*data_.loop(), volume,
                        {*log_, overlay_, [this](DataPlace place, std::size_t length) {
                           return log_->read(place, length);
                         }});
    return data_.try_run(publisher.publish("by a test"));
  }
  const Contents& files() const { return files_; }
  Overlay& overlay() { return overlay_; }

 private:
  void open() {
    overlay_ = Overlay();
    const auto visit = [this](const LoggedRecord& logged) { return overlay_.apply(logged); };
    WriteLog::Opened opened = data_.run(WriteLog::open(
        *data_.loop(), MUST(LogFolder::open(folder_)), {"uuid", "main"}, 7, visit, Bytes::mebi(8)));
    log_ = std::move(opened.log);
  }
  void close() {
    data_.run(log_->stop());
    log_.reset();
  }
  Moment now() { return {++time_, 0}; }
  void change(Change what) {
    MUST(overlay_.apply(MUST(log_->append({.request = {}, .change = std::move(what)}))));
  }
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
    if (overlay_.find(inode) != nullptr) return inode;
    if (overlay_.base()->empty()) {
      change(Adopt{.inode = volume::kRootInode, .kind = volume::NodeKind::kFolder, .mode = 0755});
      return inode;
    }
    volume::Snapshot base = data_.run(data_.volume().snapshot("latest"));
    const volume::Node node = data_.run(base.node(inode));
    Adopt adopt{.inode = inode, .kind = node.kind, .mode = node.mode};
    if (!path.empty()) adopt.places.push_back(place_of(path));
    adopt.size = node.size;
    adopt.modified = adopt.accessed = adopt.changed = {node.changed, node.changed_nanos};
    change(adopt);
    return inode;
  }

  MemoryVolume& data_;
  const std::string folder_;
  std::unique_ptr<WriteLog> log_;
  Overlay overlay_;
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
  static void change_some(Branch& branch) {
    branch.write("a/old", 200'000, noise(5'000, 2));
    branch.make_folder("d");
    branch.create("d/new", noise(300'000, 3));
    branch.remove("c/gone");
    branch.rename("b", "d/bee");
    branch.set_mode("a/kept", 0600);
  }
  Volume& volume() { return data_.volume(); }
  void begin() { data_.run(volume().begin_writing(volume::session_of_this_process("mount"))); }

  MemoryVolume data_;
  env::testing::TemporaryDirectory home_;
};

TEST_F(PublisherTest, AVersionHasWhatWasCommitted) {
  data_.put(first());
  begin();
  Branch branch(data_, home_.path() + "/log");
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

TEST_F(PublisherTest, OfAnEmptyVolumeTheFirstVersion) {
  begin();
  Branch branch(data_, home_.path() + "/log");
  branch.create("one", "1");
  ASSERT_TRUE(MUST(branch.try_publish(volume())).has_value());
  EXPECT_EQ(data_.contents(), branch.files());
  data_.run(volume().end_session());
}

TEST_F(PublisherTest, WhatSomebodyElsePublishedIsNotReplaced) {
  data_.put(first());
  begin();
  Branch branch(data_, home_.path() + "/log");
  change_some(branch);
  {
    Volume other =
        data_.run(Volume::open({data_.store(), env::real_clock(), data_.random(), {}}, "data"));
    data_.run(volume::put_tree(*data_.loop(), other,
                               volume::testing::source_of_contents({{"theirs", "x"}}), {}, {}));
  }
  data_.run(volume().refresh());
  EXPECT_EQ(branch.try_publish(volume()).error().code, Errc::kConflict);
  EXPECT_EQ(data_.content("theirs"), "x");
  data_.run(volume().end_session());
}

// Whatever the moment, the next life makes the version, and only once.
TEST_F(PublisherTest, KilledBeforeAnyPutItIsPublishedByTheNextLife) {
  int killed = 0;
  for (int puts = 1;; ++puts) {
    SCOPED_TRACE("killed after " + std::to_string(puts) + " puts");
    MemoryVolume data(data_.loop());
    data.put(first());
    const std::string before = data.newest().version;
    Branch branch(data, home_.path() + "/log" + std::to_string(puts));
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
