// The files of a branch, beside a folder of this machine that is changed the same: what either
// refuses the other refuses, and both have the same afterwards.

#include "writing/branch_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"
#include "base/split_mix.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "volume/session.h"
#include "volume/testing/memory_volume.h"
#include "writing/publisher.h"
#include "writing/testing/log_disk.h"
#include "writing/testing/snapshot_base.h"

namespace runnel::writing {
namespace {

using volume::NodeKind;
using volume::testing::MemoryVolume;

// Of a path, but for its bytes: "d" or "f 0644 2 links" or "l -> target".
using Tree = std::map<std::string, std::string>;

int errno_of(const Error& error) {
  EXPECT_NE(refusal_of(error), Refusal::kNone) << error.to_string();
  return writing::errno_of(refusal_of(error));
}

std::string line_of(NodeKind kind, std::uint32_t mode, std::uint64_t links,
                    const std::string& bytes) {
  char bits[8];
  (void)std::snprintf(bits, sizeof(bits), "%04o", mode);
  switch (kind) {
    case NodeKind::kFolder: return "d " + std::string(bits);
    case NodeKind::kLink: return "l -> " + bytes;
    case NodeKind::kFile: break;
  }
  return "f " + std::string(bits) + " " + std::to_string(links) + " links: " + bytes;
}

// A branch of a volume in memory, by paths.
class BranchByPaths {
 public:
  explicit BranchByPaths(MemoryVolume& data) : data_(data) { open(); }
  ~BranchByPaths() { stop(); }
  BranchByPaths(const BranchByPaths&) = delete;
  BranchByPaths& operator=(const BranchByPaths&) = delete;

  void reopen() {
    stop();
    open();
  }
  void publish() {
    Publisher publisher(*data_.loop(), data_.volume(), *branch_,
                        {.rebase = [this](const volume::Manifest& manifest) {
                          files_->rebase(base_of(manifest));
                        }});
    MUST(data_.try_run(publisher.publish("")));
  }
  void begin_anew() {
    Publisher publisher(*data_.loop(), data_.volume(), *branch_);
    MUST(data_.try_run(publisher.begin_anew()));
  }

  void add_earlier(const volume::Manifest& manifest) { files_->add_earlier(base_of(manifest)); }

  // The next time that bytes of the base are read.
  void while_base_is_read(std::function<Async<void>()> busy) { busy_ = std::move(busy); }
  Async<void> begin_anew_soon() { return branch_->begin_anew(""); }

  BranchFiles& files() { return *files_; }
  // Committed, in the root.
  Inode make_file(const std::string& name, const std::string& bytes) {
    const FileFound made = MUST(run(files_->create(
        {}, {volume::kRootInode, name}, {.kind = NodeKind::kFile, .mode = 0644, .target = ""})));
    MUST(run(files_->write(made.inode, 0, bytes)));
    MUST(run(files_->commit(made.inode)));
    return made.inode;
  }
  template <typename T>
  Result<T> run(Async<T> work) {
    return data_.try_run(std::move(work));
  }
  // 0 or an errno.
  template <typename T>
  int outcome(Async<T> work) {
    const Result<T> done = run(std::move(work));
    return done.ok() ? 0 : errno_of(done.error());
  }

  // The folder that a path's last part is in; an errno: there is none.
  std::optional<Place> place(const std::string& path, int& error) {
    Inode folder = volume::kRootInode;
    std::size_t at = 0;
    for (std::size_t slash; (slash = path.find('/', at)) != std::string::npos; at = slash + 1) {
      const auto next = MUST(run(files_->look_up(folder, path.substr(at, slash - at))));
      error = !next || next->attributes.kind == NodeKind::kLink ? ENOENT
              : next->attributes.kind != NodeKind::kFolder      ? ENOTDIR
                                                                : 0;
      if (error != 0) return std::nullopt;
      folder = next->inode;
    }
    return Place{folder, path.substr(at)};
  }
  std::optional<FileFound> find(const std::string& path, int& error) {
    const auto at = place(path, error);
    if (!at) return std::nullopt;
    auto found = MUST(run(files_->look_up(at->folder, at->name)));
    error = found ? 0 : ENOENT;
    return found;
  }

  Tree tree() {
    Tree tree;
    add(volume::kRootInode, "", tree);
    return tree;
  }

 private:
  void open() {
    branch_ = MUST(data_.try_run(Branch::open(
        *data_.loop(),
        {.files = disk_.open(), .owner = {"uuid", "main"}, .nonce = 7, .segment = Bytes::mebi(2)},
        "")));
    const volume::Snapshot newest = MUST(data_.try_run(data_.volume().snapshot("latest")));
    files_.emplace(*branch_, base_of(newest.manifest()), [this] { return Moment{++time_, 0}; });
  }
  void stop() {
    MUST(data_.try_run(branch_->written(branch_->last())));
    MUST(data_.try_run(branch_->stop()));
  }
  BranchBase base_of(const volume::Manifest& manifest) {
    BranchBase base = testing::base_of(data_.volume(), manifest);
    base.read = [this, read = base.read](Inode file, std::uint64_t offset, std::uint64_t length) {
      return read_busily(read, file, offset, length);
    };
    return base;
  }
  Async<std::string> read_busily(decltype(BranchBase::read) read, Inode file, std::uint64_t offset,
                                 std::uint64_t length) {
    if (const auto busy = std::exchange(busy_, nullptr)) CO_TRY(co_await busy());
    co_return co_await read(file, offset, length);
  }
  void add(Inode folder, const std::string& path, Tree& tree) {
    std::string after;
    while (true) {
      const auto entries = MUST(run(files_->list(folder, after, 3)));
      if (entries.empty()) return;
      for (const FileEntry& entry : entries) add_entry(entry, path + entry.name, tree);
      after = entries.back().name;
    }
  }
  void add_entry(const FileEntry& entry, const std::string& path, Tree& tree) {
    const Inode inode = entry.what.inode;
    const FileAttributes all = MUST(run(files_->attributes(inode)));
    EXPECT_EQ(all.kind, entry.what.kind) << path;
    std::string bytes;
    if (all.kind == NodeKind::kLink) bytes = MUST(run(files_->target(inode)));
    if (all.kind == NodeKind::kFile) {
      bytes = MUST(run(files_->read(inode, 0, 1 << 20)));
      EXPECT_EQ(bytes.size(), all.size) << path;
    }
    tree[path] = line_of(all.kind, all.mode, all.links, bytes);
    if (all.kind == NodeKind::kFolder) add(inode, path + "/", tree);
  }

  MemoryVolume& data_;
  testing::LogDisk disk_;
  std::unique_ptr<Branch> branch_;
  std::optional<BranchFiles> files_;
  std::int64_t time_ = 1'000;
  std::function<Async<void>()> busy_;
};

// The same calls to this machine's kernel.
class RealFolder {
 public:
  explicit RealFolder(std::string path) : path_(std::move(path)) {}
  std::string at(const std::string& path) const { return path_ + "/" + path; }
  static int outcome(int result) { return result == 0 ? 0 : errno; }

  int make(const std::string& path, NodeKind kind, std::uint32_t mode) const {
    if (kind == NodeKind::kFolder) return outcome(::mkdir(at(path).c_str(), mode));
    if (kind == NodeKind::kLink) return outcome(::symlink("no/where", at(path).c_str()));
    const int file = ::open(at(path).c_str(), O_CREAT | O_EXCL | O_WRONLY, mode);
    return file < 0 ? errno : outcome(::close(file));
  }
  Tree tree() const {
    Tree tree;
    for (const auto& each : std::filesystem::recursive_directory_iterator(path_)) {
      struct stat info{};
      CHECK(::lstat(each.path().c_str(), &info) == 0, "a file of the test is gone");
      const NodeKind kind = S_ISDIR(info.st_mode)   ? NodeKind::kFolder
                            : S_ISLNK(info.st_mode) ? NodeKind::kLink
                                                    : NodeKind::kFile;
      std::string bytes;
      if (kind == NodeKind::kLink) bytes = std::filesystem::read_symlink(each.path()).string();
      if (kind == NodeKind::kFile) bytes = MUST(env::read_file(each.path().string()));
      tree[each.path().string().substr(path_.size() + 1)] =
          line_of(kind, info.st_mode & 07777, info.st_nlink, bytes);
    }
    return tree;
  }

 private:
  const std::string path_;
};

// Changes both at random, by the same calls.
class BothChanged {
 public:
  BothChanged(std::uint64_t seed, BranchByPaths& branch, const RealFolder& real)
      : dice_(seed), branch_(branch), real_(real) {}

  void step() {
    switch (pick(14)) {
      case 0:
      case 1:
      case 2: return make();
      case 3:
      case 4:
      case 5: return write();
      case 6: return truncate();
      case 7: return set_mode();
      case 8:
      case 9: return rename();
      case 10: return link();
      case 11: return remove(NodeKind::kFile);
      case 12: return remove(NodeKind::kFolder);
      default: return commit();
    }
  }
  const std::map<int, int>& refusals() const { return refusals_; }

 private:
  int pick(int count) { return static_cast<int>(dice_.next() % static_cast<std::uint64_t>(count)); }
  std::string a_path() {
    std::string path(1, static_cast<char>('a' + pick(4)));
    for (int more = pick(3); more > 0; --more) {
      path += '/';
      path += static_cast<char>('a' + pick(4));
    }
    return path;
  }
  void expect_same(int ours, int theirs, const std::string& what) {
    EXPECT_EQ(ours, theirs) << what;
    ++refusals_[theirs];
  }

  void make() {
    constexpr std::array kKinds{NodeKind::kFile, NodeKind::kFile, NodeKind::kFolder,
                                NodeKind::kFolder, NodeKind::kLink};
    const NodeKind kind = kKinds.at(static_cast<std::size_t>(pick(5)));
    const std::string path = a_path();
    const std::uint32_t mode = kind == NodeKind::kLink ? 0777 : 0700;
    int error = 0;
    const auto at = branch_.place(path, error);
    if (at) {
      BranchFiles::NewNode node{.kind = kind, .mode = mode};
      if (kind == NodeKind::kLink) node.target = "no/where";
      error = branch_.outcome(branch_.files().create({}, *at, node));
    }
    expect_same(error, real_.make(path, kind, mode), "make " + path);
  }
  // A file at this path; others are left alone.
  std::optional<Inode> a_file(const std::string& path) {
    int error = 0;
    const auto found = branch_.find(path, error);
    if (!found || found->attributes.kind != NodeKind::kFile) return std::nullopt;
    return found->inode;
  }
  void write() {
    const std::string path = a_path();
    const auto file = a_file(path);
    if (!file) return;
    const auto offset = static_cast<std::uint64_t>(pick(3'000));
    const std::string bytes(static_cast<std::size_t>(pick(2'000)),
                            static_cast<char>('a' + pick(26)));
    const int open = ::open(real_.at(path).c_str(), O_WRONLY);
    ASSERT_EQ(::pwrite(open, bytes.data(), bytes.size(), static_cast<off_t>(offset)),
              static_cast<ssize_t>(bytes.size()));
    ::close(open);
    MUST(branch_.run(branch_.files().write(*file, offset, bytes)));
  }
  void truncate() {
    const std::string path = a_path();
    const auto file = a_file(path);
    if (!file) return;
    const auto size = static_cast<std::uint64_t>(pick(4'000));
    ASSERT_EQ(::truncate(real_.at(path).c_str(), static_cast<off_t>(size)), 0);
    MUST(branch_.run(branch_.files().set_attributes(*file, {.size = size})));
  }
  void set_mode() {
    const std::string path = a_path();
    int error = 0;
    const auto found = branch_.find(path, error);
    if (!found || found->attributes.kind == NodeKind::kLink) return;
    const auto mode = static_cast<std::uint32_t>(0700 | pick(0100));
    ASSERT_EQ(::chmod(real_.at(path).c_str(), mode), 0);
    MUST(branch_.run(branch_.files().set_attributes(found->inode, {.mode = mode})));
  }
  void rename() {
    using Mode = BranchFiles::RenameMode;
    constexpr std::array kModes{Mode::kReplace, Mode::kReplace, Mode::kNoReplace, Mode::kExchange};
    constexpr std::array<unsigned, 4> kFlags{0, 0, RENAME_NOREPLACE, RENAME_EXCHANGE};
    const auto which = static_cast<std::size_t>(pick(4));
    const std::string from = a_path();
    const std::string to = a_path();
    int error = 0;
    const auto at = branch_.place(from, error);
    const auto there = at ? branch_.place(to, error) : std::nullopt;
    if (at && there) {
      error = branch_.outcome(branch_.files().rename({}, *at, *there, kModes.at(which)));
    }
    const int theirs = RealFolder::outcome(::renameat2(AT_FDCWD, real_.at(from).c_str(), AT_FDCWD,
                                                       real_.at(to).c_str(), kFlags.at(which)));
    expect_same(error, theirs, "rename " + from + " to " + to);
  }
  void link() {
    const std::string from = a_path();
    const std::string to = a_path();
    int error = 0;
    const auto found = branch_.find(from, error);
    const auto there = found ? branch_.place(to, error) : std::nullopt;
    if (there) error = branch_.outcome(branch_.files().link({}, found->inode, *there));
    const int theirs = RealFolder::outcome(::link(real_.at(from).c_str(), real_.at(to).c_str()));
    // The kernel looks whether the name is taken before it asks the file system.
    if (theirs == EEXIST && error == EPERM) return;
    expect_same(error, theirs, "link " + from + " to " + to);
  }
  void remove(NodeKind kind) {
    const std::string path = a_path();
    int error = 0;
    const auto at = branch_.place(path, error);
    if (at) error = branch_.outcome(branch_.files().remove({}, *at, kind));
    const std::string real = real_.at(path);
    const int theirs = RealFolder::outcome(kind == NodeKind::kFolder ? ::rmdir(real.c_str())
                                                                     : ::unlink(real.c_str()));
    expect_same(error, theirs, "remove " + path);
  }
  void commit() {
    if (const auto file = a_file(a_path())) MUST(branch_.run(branch_.files().commit(*file)));
  }

  SplitMix64 dice_;
  BranchByPaths& branch_;
  const RealFolder& real_;
  std::map<int, int> refusals_;
};

class BranchFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    data_.run(data_.volume().begin_writing(volume::session_of_this_process("mount")));
  }
  void TearDown() override { data_.run(data_.volume().end_session()); }

  MemoryVolume data_;
  env::testing::TemporaryDirectory folder_;
};

TEST_F(BranchFilesTest, ARequestThatComesAgainIsAnsweredAsItWas) {
  BranchByPaths branch(data_);
  const RequestId request{1, 5};
  const BranchFiles::NewNode file{.kind = NodeKind::kFile, .mode = 0644, .target = ""};
  const Place at{volume::kRootInode, "a"};
  const FileFound made = MUST(branch.run(branch.files().create(request, at, file)));
  branch.reopen();
  EXPECT_EQ(MUST(branch.run(branch.files().create(request, at, file))).inode, made.inode);
  EXPECT_EQ(branch.outcome(branch.files().create(RequestId{1, 6}, at, file)), EEXIST);
  const RequestId gone{1, 7};
  EXPECT_EQ(branch.outcome(branch.files().remove(gone, at, NodeKind::kFile)), 0);
  EXPECT_EQ(branch.outcome(branch.files().remove(gone, at, NodeKind::kFile)), 0);
  EXPECT_EQ(branch.outcome(branch.files().remove(RequestId{1, 8}, at, NodeKind::kFile)), ENOENT);
}

TEST_F(BranchFilesTest, AChangeThatNobodyWaitsForIsNotMade) {
  BranchByPaths branch(data_);
  const BranchFiles::NewNode file{.kind = NodeKind::kFile, .mode = 0644, .target = ""};
  const Asker gone({1, 5}, [] { return false; });
  const Place at{volume::kRootInode, "a"};
  EXPECT_EQ(branch.run(branch.files().create(gone, at, file)).error().code, Errc::kCancelled);
  const FileFound made = MUST(branch.run(branch.files().create({}, at, file)));
  EXPECT_EQ(branch.run(branch.files().write(made.inode, 0, "bytes", gone)).error().code,
            Errc::kCancelled);
  EXPECT_EQ(branch.run(branch.files().remove(gone, at, NodeKind::kFile)).error().code,
            Errc::kCancelled);
  EXPECT_EQ(MUST(branch.run(branch.files().look_up(volume::kRootInode, "a")))->attributes.size, 0U);
  int asked = 0;
  const Asker waits({1, 6}, [&asked] { return ++asked > 0; });
  MUST(branch.run(branch.files().write(made.inode, 0, "bytes", waits)));
  EXPECT_EQ(asked, 1) << "in the turn of the change";
}

// As a server does that a mount was handed over to: the kernel knows numbers, and nobody names.
TEST_F(BranchFilesTest, WhatNobodyHasLookedUpIsChangedWithAllItsNames) {
  BranchByPaths branch(data_);
  const auto made = branch.make_file("a", "bytes");
  const auto folder = MUST(branch.run(branch.files().create(
      {}, {volume::kRootInode, "d"}, {.kind = NodeKind::kFolder, .mode = 0755, .target = ""})));
  MUST(branch.run(branch.files().link({}, made, {folder.inode, "b"})));
  branch.publish();
  branch.reopen();
  MUST(branch.run(branch.files().write(made, 0, "BYTES")));
  MUST(branch.run(branch.files().commit(made)));
  branch.publish();
  EXPECT_EQ(data_.content("a"), "BYTES");
  EXPECT_EQ(data_.content("d/b"), "BYTES");
  EXPECT_EQ(MUST(branch.run(branch.files().attributes(made))).links, 2U);
}

TEST_F(BranchFilesTest, AFileThatIsOpenKeepsItsBytesWhenItsNameIsPublishedAway) {
  BranchByPaths branch(data_);
  const Inode made = branch.make_file("a", "bytes");
  branch.publish();
  const Place at{volume::kRootInode, "a"};
  MUST(branch.run(branch.files().remove({}, at, NodeKind::kFile)));
  branch.publish();
  branch.make_file("other", "x");
  branch.publish();
  EXPECT_EQ(MUST(branch.run(branch.files().read(made, 1, 100))), "ytes");
  MUST(branch.files().forget(made));
  EXPECT_FALSE(branch.run(branch.files().attributes(made)).ok());
}

// What was in memory alone is written to the new segment, and an old place reads as zeros.
// As the next server of a mount has it, whose programs have the file open.
TEST_F(BranchFilesTest, AServerThatTakesOverIsToldTheBasesOfFilesWithoutAName) {
  BranchByPaths branch(data_);
  const Inode file = branch.make_file("a", "bytes of a");
  branch.publish();
  const volume::Manifest before = data_.newest();
  MUST(branch.run(branch.files().remove({}, {volume::kRootInode, "a"}, NodeKind::kFile)));
  branch.make_file("b", "bytes of b");
  branch.publish();
  branch.reopen();
  EXPECT_EQ(branch.run(branch.files().read(file, 0, 100)).error().code, Errc::kNotFound);
  branch.add_earlier(before);
  EXPECT_EQ(MUST(branch.run(branch.files().read(file, 0, 100))), "bytes of a");
  MUST(branch.run(branch.files().write(file, 6, "off")));
  EXPECT_EQ(MUST(branch.run(branch.files().read(file, 0, 100))), "bytes offa");
  branch.publish();
  EXPECT_EQ(MUST(branch.run(branch.files().read(file, 0, 5))), "bytes") << "it is used, and stays";
  MUST(branch.files().forget(file));
  EXPECT_FALSE(branch.run(branch.files().read(file, 0, 100)).ok());
}

TEST_F(BranchFilesTest, AReadBesideACheckpointHasWhatWasWritten) {
  BranchByPaths branch(data_);
  const Inode made = branch.make_file("a", "bytes");
  branch.publish();
  MUST(branch.run(branch.files().write(made, 5, " and more")));
  branch.while_base_is_read([&branch] { return branch.begin_anew_soon(); });
  EXPECT_EQ(MUST(branch.run(branch.files().read(made, 0, 100))), "bytes and more");
}

TEST_F(BranchFilesTest, ANodeThatIsPublishedUnderALookIsTheOneThatIsFound) {
  BranchByPaths branch(data_);
  const Inode first = branch.make_file("a", "same");
  branch.publish();
  const Inode second = branch.make_file("b", "same");
  const Place a{volume::kRootInode, "a"};
  const Place b{volume::kRootInode, "b"};
  MUST(branch.run(branch.files().rename({}, b, a, BranchFiles::RenameMode::kReplace)));
  branch.publish();  // The same tree, and so the same version.
  EXPECT_NE(first, second);
  EXPECT_EQ(MUST(branch.run(branch.files().look_up(a.folder, a.name)))->inode, second);
  EXPECT_EQ(MUST(branch.run(branch.files().read(first, 0, 100))), "same") << "it is open";
  EXPECT_EQ(MUST(branch.run(branch.files().read(second, 0, 100))), "same");
}

TEST_F(BranchFilesTest, WhoseBytesAreOfAVersionThatNobodyHasIsAnErrorAndNoMore) {
  BranchByPaths branch(data_);
  const Inode made = branch.make_file("a", "bytes");
  branch.publish();
  MUST(branch.run(branch.files().remove({}, {volume::kRootInode, "a"}, NodeKind::kFile)));
  branch.publish();
  branch.reopen();
  EXPECT_EQ(branch.run(branch.files().read(made, 0, 100)).error().code, Errc::kNotFound);
}

TEST_F(BranchFilesTest, AFileHasAsManyNamesAsARecordHasRoomFor) {
  BranchByPaths branch(data_);
  const Inode made = branch.make_file("a", "");
  for (std::size_t count = 1; count < BranchFiles::kNamesMax; ++count) {
    const std::string name = std::string(250, 'n') + std::to_string(count);
    MUST(branch.run(branch.files().link({}, made, {volume::kRootInode, name})));
  }
  EXPECT_EQ(branch.outcome(branch.files().link({}, made, {volume::kRootInode, "one more"})),
            EMLINK);
  branch.begin_anew();
  EXPECT_EQ(MUST(branch.run(branch.files().attributes(made))).links, BranchFiles::kNamesMax);
}

TEST_F(BranchFilesTest, NamesThatCanBeNoneAreRefused) {
  BranchByPaths branch(data_);
  const auto outcome = [&branch](const std::string& name) {
    return branch.outcome(branch.files().look_up(volume::kRootInode, name));
  };
  EXPECT_EQ(outcome(std::string(255, 'n')), 0);
  EXPECT_EQ(outcome(std::string(256, 'n')), ENAMETOOLONG);
  EXPECT_EQ(outcome(".."), EINVAL);
  EXPECT_EQ(outcome(""), EINVAL);
  const Inode made = branch.make_file("a", "");
  EXPECT_EQ(branch.outcome(branch.files().write(made, BranchFiles::kFileBytesMax, "x")), EFBIG);
  EXPECT_EQ(branch.outcome(branch.files().write(volume::kRootInode, 0, "x")), EISDIR);
}

// RUNNEL_FILES_STEPS: so many in all.
TEST_F(BranchFilesTest, AreAsAFolderOfThisMachineUnderTheSameCalls) {
  const char* const asked = std::getenv("RUNNEL_FILES_STEPS");
  const int steps = asked != nullptr ? std::stoi(asked) : 2'000;
  const mode_t before = ::umask(0);
  const RealFolder real(folder_.path());
  BranchByPaths branch(data_);
  BothChanged both(17, branch, real);
  SplitMix64 dice(5);
  for (int step = 0; step < steps && !HasFailure(); ++step) {
    SCOPED_TRACE("step " + std::to_string(step));
    both.step();
    const std::uint64_t what = dice.next() % 100;
    if (what < 3) branch.publish();
    if (what == 3) branch.reopen();
    if (what == 4) branch.begin_anew();
    if (what < 8) EXPECT_EQ(branch.tree(), real.tree());
  }
  ::umask(before);
  for (const int number : {0, ENOENT, EEXIST, ENOTDIR, EISDIR, ENOTEMPTY, EINVAL, EPERM}) {
    EXPECT_TRUE(both.refusals().contains(number)) << "errno " << number;
  }
}

}  // namespace
}  // namespace runnel::writing
