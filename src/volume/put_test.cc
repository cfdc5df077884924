#include "volume/put.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "async/unique_fd.h"
#include "base/split_mix.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "object/forwarding_store.h"
#include "object/memory/memory_store.h"
#include "object/metered_store.h"
#include "volume/chunk_read.h"
#include "volume/chunker.h"
#include "volume/file_hash.h"
#include "volume/get.h"
#include "volume/session.h"
#include "volume/target_tree.h"

namespace runnel::volume {
namespace {

class PutNumbers final : public env::Random {
 public:
  std::uint64_t next() override { return numbers_.next(); }

 private:
  SplitMix64 numbers_{9};
};

std::string noise(std::size_t size, std::uint64_t seed) {
  SplitMix64 numbers(seed);
  std::string bytes(size, '\0');
  for (std::size_t at = 0; at < size; at += sizeof(std::uint64_t)) {
    const std::uint64_t number = numbers.next();
    std::memcpy(bytes.data() + at, &number, std::min(sizeof number, size - at));
  }
  return bytes;
}

class PutTest : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) {
    const std::string path = source_.path() + "/" + name;
    MUST(env::make_directories(env::parent_of(path)));
    MUST(env::write_file_atomically(path, bytes));
    files_[name] = bytes;
  }
  template <typename T>
  T run(Async<T> work) {
    return MUST(loop_->block_on(std::move(work)));
  }
  PutResult put(PutOptions options = {}) {
    return run(
        put_tree(*loop_, volume_, MUST(SourceTree::open(source_.path())), std::move(options), {}));
  }
  std::string content(const std::string& path, const std::string& version = "latest") {
    Snapshot snapshot = run(volume_.snapshot(version));
    const Snapshot::Found found = run(snapshot.at(path));
    std::vector<Extent> extents = run(snapshot.extents(found.inode, found.node));
    return run(read_bytes({memory_, volume_.prefix()}, std::move(extents), 0, found.node.size, {}));
  }
  std::int64_t objects(const std::string& kind) {
    std::int64_t count = 0;
    for (const auto& [key, object] : memory_.objects()) count += key.starts_with("data/" + kind);
    return count;
  }

  env::testing::TemporaryDirectory source_;
  std::map<std::string, std::string> files_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  object::MemoryStore memory_;
  PutNumbers random_;
  Volume volume_ =
      MUST(loop_->block_on(Volume::create({memory_, env::real_clock(), random_, {}}, "data")));
};

TEST_F(PutTest, GivesBackEveryByte) {
  write("empty", "");
  write("small", "hello");
  write("sub/text", std::string(100'000, 'a'));
  write("sub/deep/noise", noise(200'000, 1));
  write("long", noise(3'000'000, 2));
  write("at the limit", noise(kWholeFileMax, 3));
  write("one more", noise(kWholeFileMax + 1, 4));
  write("odd\nname \xff", "x");
  const PutResult result = put();
  EXPECT_EQ(result.manifest.totals.files, 8);
  EXPECT_EQ(result.manifest.totals.folders, 3);
  EXPECT_EQ(result.done.files, 8);
  for (const auto& [name, bytes] : files_) EXPECT_EQ(content(name), bytes) << name;
}

TEST_F(PutTest, KeepsModesTimesAndLinks) {
  write("script", "#!/bin/sh\n");
  ASSERT_EQ(::chmod((source_.path() + "/script").c_str(), 0751), 0);
  ASSERT_EQ(::symlink("../elsewhere", (source_.path() + "/link").c_str()), 0);
  ASSERT_EQ(::mkfifo((source_.path() + "/pipe").c_str(), 0600), 0);
  const PutResult result = put();
  EXPECT_EQ(result.passed_over, std::vector<std::string>{source_.path() + "/pipe"});
  Snapshot newest = run(volume_.snapshot("latest"));
  const Node script = run(newest.at("script")).node;
  EXPECT_EQ(script.mode, 0751U);
  EXPECT_NEAR(static_cast<double>(script.changed),
              static_cast<double>(env::real_clock().wall().millis()) / 1'000, 60);
  EXPECT_EQ(run(newest.at("link")).node.target, "../elsewhere");
}

TEST_F(PutTest, LeavesOutWhatAnInterruptedGetLeft) {
  const std::string left = ".runnel-part-0123456789abcdef";
  write("folder/" + left, "half a fi");
  ASSERT_EQ(::symlink("x", (source_.path() + "/.runnel-part-fedcba9876543210").c_str()), 0);
  write("folder/" + left + "0", "somebody's own");
  write(".runnel-part-", "somebody's own");
  const PutResult result = put();
  EXPECT_EQ(result.passed_over.size(), 2U);
  EXPECT_TRUE(std::ranges::all_of(result.passed_over, [](const std::string& path) {
    return is_unfinished_name(path.substr(path.rfind('/') + 1));
  }));
  EXPECT_EQ(result.manifest.totals.files, 2);
  Snapshot newest = run(volume_.snapshot("latest"));
  EXPECT_FALSE(loop_->block_on(newest.at("folder/" + left)).ok());
  EXPECT_EQ(content("folder/" + left + "0"), "somebody's own");
}

TEST_F(PutTest, TheSameTreeAgainIsNoVersion) {
  write("a", "1");
  write("b/c", noise(400'000, 1));
  const PutResult first = put();
  const std::size_t before = memory_.objects().size();
  const PutResult again = put();
  EXPECT_EQ(again.manifest.version, first.manifest.version);
  EXPECT_EQ(again.done.stored, 0);
  EXPECT_EQ(objects("p/"), 1);
  EXPECT_EQ(memory_.objects().size(), before);
}

TEST_F(PutTest, AddsToWhatIsThereOrMirrorsIt) {
  write("a", "1");
  write("sub/b", "2");
  const PutResult first = put({.into = "in/side"});
  EXPECT_EQ(content("in/side/sub/b"), "2");
  std::filesystem::remove_all(source_.path() + "/sub");
  write("c", "3");
  put({.into = "in/side"});
  EXPECT_EQ(content("in/side/sub/b"), "2");
  put({.into = "in/side", .mirror = true});
  Snapshot newest = run(volume_.snapshot("latest"));
  EXPECT_FALSE(loop_->block_on(newest.at("in/side/sub/b")).ok());
  EXPECT_EQ(content("in/side/c"), "3");
  EXPECT_EQ(content("in/side/sub/b", first.manifest.version), "2") << "an earlier version stays";
}

TEST_F(PutTest, EqualBytesAreStoredOnce) {
  const std::string bytes = noise(100'000, 1);
  for (int copy = 0; copy < 10; ++copy) write("copy" + std::to_string(copy), bytes);
  EXPECT_LT(put().done.stored, 110'000);
  write("another", bytes);
  EXPECT_EQ(put().done.stored, 0);
}

TEST_F(PutTest, AnInsertionCostsAFewChunks) {
  const std::string bytes = noise(8'000'000, 1);
  write("large", bytes);
  put();
  write("large", bytes.substr(0, 4'000'000) + "inserted" + bytes.substr(4'000'000));
  EXPECT_LT(put().done.stored, 1'200'000);
  EXPECT_EQ(content("large"), files_["large"]);
}

TEST_F(PutTest, PutsOneFileUnderItsOwnName) {
  write("single", "1");
  const std::string path = source_.path() + "/single";
  run(put_tree(*loop_, volume_, MUST(SourceTree::open(path)), {.into = "files"}, {}));
  EXPECT_EQ(content("files/single"), "1");
  EXPECT_EQ(SourceTree::open(source_.path() + "/none").error().code, Errc::kNotFound);
}

TEST_F(PutTest, OneFileMayGetAnotherName) {
  write("single", "1");
  write("long", noise(700'000, 1));
  for (const char* name : {"single", "long"}) {
    auto source = MUST(SourceTree::open(source_.path() + "/" + name, std::string("my ") + name));
    run(put_tree(*loop_, volume_, std::move(source), {.into = "files"}, {}));
  }
  EXPECT_EQ(content("files/my single"), "1");
  EXPECT_EQ(content("files/my long"), files_["long"]);
}

TEST_F(PutTest, AMirrorReplacesFilesByFoldersAndTheirModes) {
  write("a/b", "1");
  write("c", "2");
  put();
  std::filesystem::remove_all(source_.path() + "/a");
  std::filesystem::remove(source_.path() + "/c");
  write("a", "3");
  write("c/d", "4");
  ASSERT_EQ(::chmod((source_.path() + "/c").c_str(), 0700), 0);
  const PutOptions plain;
  const auto refused =
      loop_->block_on(put_tree(*loop_, volume_, MUST(SourceTree::open(source_.path())), plain, {}));
  EXPECT_EQ(refused.error().code, Errc::kConflict);
  put({.mirror = true});
  EXPECT_EQ(content("a"), "3");
  EXPECT_EQ(content("c/d"), "4");
  ASSERT_EQ(::chmod((source_.path() + "/c").c_str(), 0750), 0);
  put({.mirror = true});
  EXPECT_EQ(run(run(volume_.snapshot("latest")).at("c")).node.mode, 0750U);
}

TEST_F(PutTest, OnlyAMirrorRenewsAFolderThatIsThere) {
  const auto mode = [this](const char* path) {
    return run(run(volume_.snapshot("latest")).at(path)).node.mode;
  };
  write("c/d", "4");
  ASSERT_EQ(::chmod(source_.path().c_str(), 0750), 0);
  put();
  put({.into = "on/way"});
  EXPECT_EQ(mode(""), 0750U) << "of the first put";
  EXPECT_EQ(mode("on"), 0755U);
  EXPECT_EQ(mode("on/way"), 0750U);
  EXPECT_GT(run(run(volume_.snapshot("latest")).at("on")).node.changed, 0) << "made now";
  ASSERT_EQ(::chmod(source_.path().c_str(), 0700), 0);
  write("e", "5");
  put();
  put({.into = "on/way"});
  EXPECT_EQ(mode(""), 0750U);
  EXPECT_EQ(mode("on/way"), 0750U);
  put({.into = "on/way", .mirror = true});
  EXPECT_EQ(mode("on/way"), 0700U);
  put({.mirror = true});
  EXPECT_EQ(mode(""), 0700U);
}

// A source that says what it likes.
class ToldSource final : public SourceTree {
 public:
  explicit ToldSource(std::vector<ReadEntry> entries) : entries_(std::move(entries)) {}
  Result<ReadBatch> next() override { return ReadBatch{std::move(entries_), "onetwo", true}; }
  const std::vector<std::string>& passed_over() const override { return none_; }

 private:
  std::vector<ReadEntry> entries_;
  const std::vector<std::string> none_;
};

class ToldPutTest : public PutTest {
 protected:
  static ReadEntry file(std::vector<std::string> path, std::size_t begin) {
    ReadEntry entry;
    entry.path = std::move(path);
    const std::string_view bytes = std::string_view("onetwo").substr(begin, 3);
    entry.node.size = bytes.size();
    entry.node.hash = hash::sha256(bytes);
    entry.chunks.push_back({entry.node.hash, begin, bytes.size()});
    return entry;
  }
  static ReadEntry other(std::vector<std::string> path, NodeKind kind) {
    ReadEntry entry;
    entry.path = std::move(path);
    entry.node.kind = kind;
    entry.node.mode = 0711;
    return entry;
  }
  Result<PutResult> put_told(std::vector<ReadEntry> entries) {
    return loop_->block_on(
        put_tree(*loop_, volume_, std::make_unique<ToldSource>(std::move(entries)), {}, {}));
  }
};

TEST_F(ToldPutTest, WhatComesAgainReplacesWhatCameBefore) {
  MUST(put_told({file({"a"}, 0), file({"a"}, 3), file({"b", "c"}, 0), file({"b"}, 3),
                 other({"d"}, NodeKind::kLink), other({"d"}, NodeKind::kFolder),
                 file({"d", "e"}, 0)}));
  EXPECT_EQ(content("a"), "two");
  EXPECT_EQ(content("b"), "two") << "a file in place of a folder";
  EXPECT_EQ(content("d/e"), "one") << "a folder in place of a link";
}

TEST_F(ToldPutTest, FoldersThatAreNotNamedAreMade) {
  MUST(put_told({file({"a", "b", "c"}, 0), other({"a"}, NodeKind::kFolder)}));
  EXPECT_EQ(content("a/b/c"), "one");
  EXPECT_EQ(run(run(volume_.snapshot("latest")).at("a")).node.mode, 0711U) << "named afterwards";
  EXPECT_GT(run(run(volume_.snapshot("latest")).at("a/b")).node.changed, 0) << "made now";
}

TEST_F(ToldPutTest, NoPathGoesThroughALink) {
  const Error error = put_told({other({"a"}, NodeKind::kLink), file({"a", "passwd"}, 0)}).error();
  EXPECT_EQ(error.code, Errc::kConflict);
  EXPECT_EQ(error.value, "a/passwd");
  EXPECT_TRUE(volume_.head().recent.empty());
}

TEST_F(ToldPutTest, AFileMayBeTheSameAsOneBefore) {
  ReadEntry twin = file({"twin"}, 0);
  twin.chunks.clear();
  twin.same_as = {"a"};
  MUST(put_told({file({"a"}, 0), std::move(twin)}));
  EXPECT_EQ(content("twin"), "one");
}

TEST_F(PutTest, ManyPacksCarryALargeTree) {
  for (int number = 0; number < 5; ++number) {
    write("large" + std::to_string(number), noise(17'000'000, static_cast<std::uint64_t>(number)));
  }
  std::int64_t told = 0;
  put({.progress = [&told](const PutProgress& progress) { told = progress.bytes; }});
  EXPECT_EQ(told, 5 * 17'000'000);
  EXPECT_EQ(objects("p/"), 3);
  for (const auto& [name, bytes] : files_) EXPECT_TRUE(content(name) == bytes) << name;
}

TEST_F(PutTest, PacksAreAsLargeAsIsAskedFor) {
  write("long", noise(5'000'000, 1));
  PutOptions options;
  options.pack_bytes = 2 << 20;
  put(options);
  EXPECT_EQ(objects("p/"), 3);
  EXPECT_EQ(content("long"), files_["long"]);
}

TEST_F(PutTest, ADamagedChunkIsNamed) {
  write("a", noise(1'000, 1));
  put();
  for (auto& [key, object] : memory_.objects()) {
    if (key.starts_with("data/p/")) object.bytes[500] = static_cast<char>(object.bytes[500] ^ 1);
  }
  Snapshot snapshot = run(volume_.snapshot("latest"));
  const Snapshot::Found found = run(snapshot.at("a"));
  const Error error =
      loop_->block_on(read_bytes({memory_, volume_.prefix()}, found.node.extents, 0, 1'000, {}))
          .error();
  EXPECT_EQ(error.code, Errc::kCorrupt);
  EXPECT_NE(error.message.find("p/"), std::string::npos);
}

TEST_F(PutTest, WhatIsGotIsWhatWasPut) {
  for (int number = 0; number < 300; ++number) {
    write("many/" + std::to_string(number), noise(static_cast<std::size_t>(number) * 30, 1));
  }
  write("long", noise(2'000'000, 2));
  write("longer", noise(70'000'000, 3));
  write("sub/script", "#!/bin/sh\n");
  ASSERT_EQ(::chmod((source_.path() + "/sub/script").c_str(), 0755), 0);
  ASSERT_EQ(::chmod((source_.path() + "/sub").c_str(), 0550), 0);
  ASSERT_EQ(::symlink("sub/script", (source_.path() + "/link").c_str()), 0);
  put();
  const env::testing::TemporaryDirectory target;
  object::MeteredStore metered(memory_, env::real_clock());
  Volume reader = run(Volume::open({metered, env::real_clock(), random_, {}}, "data"));
  const GetProgress got =
      run(get_tree(*loop_, reader, "latest", "", target.path() + "/copy", {}, {}));
  EXPECT_EQ(got.files, 303);
  for (const auto& [name, bytes] : files_) {
    const std::string path = target.path() + "/copy/" + name;
    EXPECT_TRUE(MUST(env::read_file(path, Bytes::gibi(1))) == bytes) << name;
  }
  struct stat one = {};
  struct stat other = {};
  for (const char* name : {"", "sub", "sub/script", "long"}) {
    ASSERT_EQ(::stat((source_.path() + "/" + name).c_str(), &one), 0);
    ASSERT_EQ(::stat((target.path() + "/copy/" + name).c_str(), &other), 0);
    EXPECT_EQ(one.st_mode, other.st_mode) << name;
    EXPECT_EQ(one.st_mtim.tv_nsec, other.st_mtim.tv_nsec) << name;
  }
  EXPECT_EQ(std::filesystem::read_symlink(target.path() + "/copy/link"), "sub/script");
  EXPECT_LE(metered.meter().requests(), 20) << "neighbours come together";
  run(get_tree(*loop_, reader, "latest", "sub/script", target.path() + "/one", {}, {}));
  EXPECT_EQ(MUST(env::read_file(target.path() + "/one")), "#!/bin/sh\n");
  ASSERT_EQ(::chmod((source_.path() + "/sub").c_str(), 0755), 0);
  ASSERT_EQ(::chmod((target.path() + "/copy/sub").c_str(), 0755), 0);
}

TEST_F(PutTest, AGetFollowsNoLinkOutOfItsPlace) {
  write("sub/file", "new");
  put();
  const env::testing::TemporaryDirectory target;
  MUST(env::make_directories(target.path() + "/elsewhere"));
  MUST(env::make_directories(target.path() + "/copy"));
  ASSERT_EQ(::symlink("../elsewhere", (target.path() + "/copy/sub").c_str()), 0);
  const Error error =
      loop_->block_on(get_tree(*loop_, volume_, "latest", "", target.path() + "/copy", {}, {}))
          .error();
  EXPECT_EQ(error.code, Errc::kConflict);
  EXPECT_TRUE(MUST(env::list_directory(target.path() + "/elsewhere")).empty());
}

// A disk image takes no more room than where it came from.
TEST_F(PutTest, LongRunsOfZerosTakeNoRoomWhereTheyAreGot) {
  const std::string zeros(9'000'001, '\0');
  write("image", zeros + noise(100'000, 8) + zeros);
  write("empty", std::string(64 << 10, '\0'));
  write("tail", "x" + zeros);
  put();
  const env::testing::TemporaryDirectory target;
  run(get_tree(*loop_, volume_, "latest", "", target.path() + "/copy", {}, {}));
  for (const char* name : {"image", "empty", "tail"}) {
    const std::string copy = target.path() + "/copy/" + name;
    EXPECT_TRUE(MUST(env::read_file(copy)) == MUST(env::read_file(source_.path() + "/" + name)))
        << name;
    struct stat info{};
    ASSERT_EQ(::stat(copy.c_str(), &info), 0);
    EXPECT_LT(info.st_blocks * 512, 500'000) << name;
  }
}

TEST_F(PutTest, AFileIsReadFromTheMiddle) {
  const std::string bytes = noise(1'000'000, 7);
  write("file", bytes);
  put();
  Snapshot snapshot = run(volume_.snapshot("latest"));
  const Snapshot::Found found = run(snapshot.at("file"));
  for (const auto& [offset, length] :
       {std::pair<std::uint64_t, std::uint64_t>{0, 10}, {500'000, 300'000}, {999'990, 100}}) {
    EXPECT_TRUE(run(read_bytes({memory_, volume_.prefix()}, found.node.extents, offset, length,
                               {})) == bytes.substr(offset, length));
  }
}

TEST(Chunker, CutsByContent) {
  const std::string bytes = noise(4'000'000, 1);
  std::map<std::string, int> seen;
  std::size_t count = 0;
  for (std::size_t at = 0; at < bytes.size(); ++count) {
    const std::size_t length = first_chunk(std::string_view(bytes).substr(at));
    const bool is_last = at + length == bytes.size();
    EXPECT_TRUE(is_last || (length > ChunkSizes().least && length <= ChunkSizes().most)) << length;
    at += length;
  }
  EXPECT_GT(count, bytes.size() / (2 * ChunkSizes().usual));
  EXPECT_LT(count, bytes.size() / (ChunkSizes().usual * 5 / 8));
  EXPECT_EQ(first_chunk(""), 0U);
  EXPECT_EQ(first_chunk("abc"), 3U);
  EXPECT_EQ(first_chunk(std::string(2'000'000, 'a')), ChunkSizes().most) << "no cut is in it";
}

TEST_F(PutTest, HolesAreKeptAsHoles) {
  const std::string path = source_.path() + "/sparse";
  const std::string begin = noise(300'000, 7);
  const std::string end = noise(100'000, 8);
  constexpr off_t kSecond = 40 << 20;
  constexpr off_t kSize = 100 << 20;
  {
    const async::UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
    ASSERT_EQ(::pwrite(file.get(), begin.data(), begin.size(), 0), std::ssize(begin));
    ASSERT_EQ(::pwrite(file.get(), end.data(), end.size(), kSecond), std::ssize(end));
    ASSERT_EQ(::ftruncate(file.get(), kSize), 0);
  }
  const PutResult sparse = put();
  EXPECT_EQ(sparse.done.bytes, kSize);
  EXPECT_LT(sparse.done.stored, 2 << 20);
  Snapshot snapshot = run(volume_.snapshot("latest"));
  const Snapshot::Found found = run(snapshot.at("sparse"));
  const std::vector<Extent> extents = run(snapshot.extents(found.inode, found.node));
  EXPECT_GE(std::ranges::count_if(extents, [](const Extent& each) { return each.is_hole(); }), 90);
  std::string bytes = begin;
  bytes.resize(kSecond, '\0');
  bytes += end;
  bytes.resize(kSize, '\0');
  EXPECT_TRUE(content("sparse") == bytes);
  const hash::Digest tree = sparse.manifest.tree;
  write("sparse", bytes);
  EXPECT_EQ(put().manifest.tree, tree) << "the same file without holes";
}

TEST(FileHash, IsOfPiecesForLongFiles) {
  const auto hash_of = [](std::string_view bytes, std::size_t step) {
    FileHash hash;
    for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
      hash.add(bytes.substr(0, step));
    }
    return hash.finish();
  };
  const std::string bytes = noise((2 << 20) + 5, 1);
  EXPECT_EQ(hash_of("", 1), hash::sha256(""));
  EXPECT_EQ(hash_of("abc", 2), hash::sha256("abc"));
  const std::string piece = bytes.substr(0, 1 << 20);
  EXPECT_EQ(hash_of(piece, 1'000), hash::sha256(piece));
  EXPECT_EQ(hash_of(bytes, 777), hash_of(bytes, 3'000'000));
  EXPECT_NE(hash_of(bytes, 777), hash::sha256(bytes));
}

TEST(FileHash, OfZerosIsThatOfTheirBytes) {
  for (const std::size_t before : {0U, 1U, 5U}) {
    for (const std::uint64_t zeros : {std::uint64_t{1}, FileHash::kPieceBytes - 1,
                                      FileHash::kPieceBytes, 3 * FileHash::kPieceBytes + 7}) {
      FileHash counted;
      FileHash read;
      counted.add(std::string(before, 'x'));
      counted.add_zeros(zeros);
      counted.add("end");
      read.add(std::string(before, 'x') + std::string(zeros, '\0') + "end");
      EXPECT_EQ(counted.size(), read.size());
      EXPECT_EQ(counted.finish(), read.finish()) << before << " " << zeros;
    }
  }
}

// A store that takes no more than some packs, as one whose client is killed.
class FewPacks final : public object::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;

  Async<std::string> put(std::string key, object::Body bytes, object::Condition condition,
                         async::StopToken stop) override {
    const bool is_pack = key.find("/p/") != std::string::npos;
    if (is_pack && packs-- <= 0) co_return Error(Errc::kIo, "no more packs");
    co_return co_await ForwardingStore::put(std::move(key), std::move(bytes), std::move(condition),
                                            std::move(stop));
  }

  int packs = 0;
};

class InterruptedPutTest : public PutTest {
 protected:
  InterruptedPutTest() {
    for (int number = 0; number < 20; ++number) {
      write("f" + std::to_string(number), noise(4'000'000, static_cast<std::uint64_t>(number)));
    }
  }

  // What is there of a put that was killed after two packs; its session is one of a process that
  // has ended.
  void interrupt() {
    FewPacks few(memory_);
    few.packs = 2;
    Volume volume = run(Volume::open({few, env::real_clock(), random_, {}}, "data"));
    PutOptions options{.source = "/source"};
    EXPECT_FALSE(loop_
                     ->block_on(put_tree(*loop_, volume, MUST(SourceTree::open(source_.path())),
                                         std::move(options), {}))
                     .ok());
    ASSERT_EQ(objects("p/"), 2);
    SessionRecord record = session_of_this_process("put");
    record.source = "/source";
    record.writes = true;
    record.pid = 1 << 30;
    record.uuid = volume.head().uuid;
    // A tag whose first bit is set: names are not sorted as numbers are.
    const std::string tag = "f0f0f0f0";
    std::map<std::string, object::Object> packs;
    for (const auto& [key, object] : memory_.objects()) {
      if (key.starts_with("data/p/")) packs[key] = object;
    }
    for (const auto& [key, object] : packs) {
      memory_.objects().erase(key);
      memory_.objects()[key.substr(0, key.rfind('-') + 1) + tag + key.substr(key.size() - 8)] =
          object;
    }
    memory_.objects()["data/s/" + tag + "01234567"] = {encode_session(record), "1"};
  }
};

TEST_F(InterruptedPutTest, GoesOnWithWhatWasPut) {
  interrupt();
  const PutResult result = put({.source = "/source"});
  EXPECT_GT(result.done.reused, 60 << 20);
  EXPECT_EQ(objects("p/"), 3) << "80 MB are three packs";
  EXPECT_EQ(objects("s/"), 0) << "the session has ended";
  for (const auto& [name, bytes] : files_) ASSERT_EQ(content(name), bytes) << name;
}

TEST_F(InterruptedPutTest, AnotherSourceBeginsAnew) {
  interrupt();
  EXPECT_EQ(put({.source = "/other"}).done.reused, 0);
  EXPECT_EQ(objects("p/"), 5);
}

TEST_F(InterruptedPutTest, WhatHasChangedIsPutAnew) {
  interrupt();
  write("f0", noise(4'000'000, 99));
  const std::int64_t reused = put({.source = "/source"}).done.reused;
  EXPECT_GT(reused, 30 << 20) << "the second pack is the same";
  EXPECT_LT(reused, 40 << 20) << "the first one is another";
  for (const auto& [name, bytes] : files_) ASSERT_EQ(content(name), bytes) << name;
}

}  // namespace
}  // namespace runnel::volume
