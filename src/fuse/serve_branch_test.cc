#include "fuse/serve_branch.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "async/together.h"
#include "async/worker.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/process.h"
#include "env/testing/temporary_directory.h"
#include "fuse/mount_point.h"
#include "fuse/publish_call.h"
#include "volume/branch_session.h"
#include "volume/testing/memory_volume.h"

namespace runnel::fuse {
namespace {

using volume::testing::Contents;
using volume::testing::MemoryVolume;

// A real mount of a volume in memory that is written to, by programs on another thread than the
// loop's.
class ServeBranchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!env::is_root() || ::access("/dev/fuse", R_OK | W_OK) != 0) {
      GTEST_SKIP() << "only root may open /dev/fuse here";
    }
    data_.put({{"before", "1"}, {"folder/below", "2"}});
    MUST(env::make_directories(folder_));
    mount_again();
  }
  void mount_again() {
    mount_.reset();
    mount_ = MUST(MountPoint::create(folder_, "runnel:data", MountPoint::Access::kWrite));
    first_message_ = MUST(mount_->first_message());
  }
  void TearDown() override { data_.run(packs_.close()); }

  ServeOptions options() {
    ServeOptions all;
    all.folder = folder_;
    all.logs = temporary_.path() + "/writing";
    all.connection = async::UniqueFd(::dup(mount_->descriptor()));
    all.connection_number = 77;
    all.first_message = first_message_;
    all.branch = branch_.name;
    all.term = branch_.term;
    all.from_base = branch_.from_base;
    all.say = [this](const std::string& sentence, bool) { said_ += sentence + "\n"; };
    return all;
  }
  volume::Volume opened() {
    return data_.run(volume::Volume::open(
        {data_.store(), env::real_clock(), data_.random(), {}, nullptr}, "data"));
  }
  // Serves until `user` has returned, as one that is killed then, or that takes over from it.
  void serve_while(const std::function<void()>& user, bool takes_over = false) {
    volume::Volume volume = opened();
    const auto worker = MUST(async::Worker::create(*data_.loop(), {.name = "user"}));
    std::vector<async::Stoppable<void>> runners;
    runners.push_back([&](async::StopToken stop) {
      ServeOptions all = options();
      all.takes_over = takes_over;
      return serve_branch(*data_.loop(), volume, packs_, std::move(all), std::move(stop));
    });
    runners.push_back([&](async::StopToken) { return worker->run(user); });
    const auto raced = data_.run(async::race<void>(*data_.loop(), std::move(runners)));
    EXPECT_EQ(raced.winner, 1U) << raced.result.error().to_string();
    data_.run(worker->stop());
  }
  // Serves until `user`, which unmounts it, has returned and all is published.
  void serve_to_the_end(const std::function<void()>& user) {
    volume::Volume volume = opened();
    const auto worker = MUST(async::Worker::create(*data_.loop(), {.name = "user"}));
    std::vector<Async<void>> both;
    both.push_back(serve_branch(*data_.loop(), volume, packs_, options(), {}));
    both.push_back(worker->run(user));
    data_.run(async::when_all(*data_.loop(), std::move(both)));
    data_.run(worker->stop());
  }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }
  static void write(int file, const std::string& bytes) {
    EXPECT_EQ(::write(file, bytes.data(), bytes.size()), std::ssize(bytes));
  }
  Contents contents(const std::string& version = "latest") {
    data_.run(data_.volume().refresh());
    return data_.contents(version);
  }

  env::testing::TemporaryDirectory temporary_;
  const std::string folder_ = MUST(env::real_path(temporary_.path())) + "/mount";
  MemoryVolume data_;
  volume::PackCache packs_{*data_.loop(),
                           {data_.store(), "data/"},
                           {.memory = std::make_shared<volume::ReaderMemory>(64 << 20)},
                           {}};
  std::unique_ptr<MountPoint> mount_;
  std::string first_message_;
  std::string said_;
  volume::BranchWriting branch_ = {.name = ""};  // Of which nothing is said: the volume itself.
};

TEST_F(ServeBranchTest, WhatIsWrittenIsPublishedAtItsEnd) {
  serve_to_the_end([this] {
    EXPECT_EQ(env::read_file(at("before")).value_or(""), "1");
    MUST(env::write_file_atomically(at("folder/new"), "bytes"));
    EXPECT_EQ(::unlink(at("before").c_str()), 0);
    MUST(unmount_folder(folder_, Unmount::kUnused));
  });
  EXPECT_EQ(contents(), (Contents{{"folder/below", "2"}, {"folder/new", "bytes"}}));
  EXPECT_EQ(data_.volume().head().lease.session, "") << "the next one may write";
  EXPECT_EQ(data_.objects("s/"), 0);
}

TEST_F(ServeBranchTest, WhoAsksHasAVersionOfWhatWasClosed) {
  serve_while([this] {
    MUST(env::write_file_atomically(at("new"), "bytes"));
    const std::string version = MUST(publish_mount(folder_));
    EXPECT_EQ(MUST(publish_mount(folder_)), version);
  });
  EXPECT_EQ(contents().at("new"), "bytes");
}

// With what is open, also a file that has lost its name.
TEST_F(ServeBranchTest, ProgramsGoOnWithTheNextServer) {
  int file = -1;
  int nameless = -1;
  serve_while([&] {
    file = ::open(at("file").c_str(), O_CREAT | O_RDWR, 0644);
    write(file, "one ");
    nameless = ::open(at("before").c_str(), O_RDWR);
    EXPECT_EQ(::unlink(at("before").c_str()), 0);
    MUST(publish_mount(folder_));
  });
  serve_while(
      [&] {
        write(file, "two");
        std::string bytes(10, '\0');
        EXPECT_EQ(::pread(file, bytes.data(), bytes.size(), 0), 7);
        EXPECT_EQ(bytes.substr(0, 7), "one two");
        EXPECT_EQ(::pread(nameless, bytes.data(), bytes.size(), 0), 1) << "of a version before";
        EXPECT_EQ(bytes.front(), '1');
        EXPECT_EQ(::close(nameless), 0);
        EXPECT_EQ(::close(file), 0);
        MUST(publish_mount(folder_));
      },
      true);
  EXPECT_EQ(contents(), (Contents{{"file", "one two"}, {"folder/below", "2"}}));
}

TEST_F(ServeBranchTest, AFileThatIsMadeAndNotWrittenIsInAVersion) {
  serve_while([this] {
    EXPECT_EQ(::close(::open(at("lock").c_str(), O_CREAT | O_RDONLY, 0600)), 0);
    EXPECT_EQ(::close(::open(at("before").c_str(), O_TRUNC | O_RDONLY)), 0);
    EXPECT_EQ(::truncate(at("folder/below").c_str(), 0), 0);
    MUST(publish_mount(folder_));
  });
  EXPECT_EQ(contents(), (Contents{{"before", ""}, {"folder/below", ""}, {"lock", ""}}));
}

TEST_F(ServeBranchTest, OnceSomebodyElseHasWrittenNothingCanBeChanged) {
  serve_while([this] { MUST(env::write_file_atomically(at("mine"), "bytes")); });
  // The server is gone, and who looks after the volume has taken it for dead.
  for (const auto& [key, object] : data_.store().objects()) {
    if (key.starts_with("data/s/")) data_.run(data_.store().remove(key, {}));
  }
  data_.run(data_.volume().refresh());
  data_.put({{"theirs", "1"}});
  serve_while(
      [this] {
        EXPECT_EQ(env::read_file(at("mine")).value_or(""), "bytes");
        EXPECT_EQ(::mkdir(at("more").c_str(), 0755), -1);
        EXPECT_EQ(errno, EROFS);
        EXPECT_EQ(::open(at("mine").c_str(), O_RDWR), -1);
        EXPECT_EQ(errno, EROFS);
        EXPECT_EQ(publish_mount(folder_).error().code, Errc::kConflict);
      },
      true);
  EXPECT_NE(said_.find("data@recovered-"), std::string::npos) << said_;
  EXPECT_FALSE(contents().contains("mine"));
  ASSERT_EQ(data_.volume().head().tags.size(), 1U);
  const std::string tag = data_.volume().head().tags.begin()->first;
  EXPECT_EQ(contents(tag).at("mine"), "bytes");
}

// A job's tasks would leave 72 MB each.
TEST_F(ServeBranchTest, TheLogOfABranchGoesWithItsEnd) {
  const auto logs = [this] {
    const std::string folder = temporary_.path() + "/writing/" + data_.volume().head().uuid;
    return MUST(env::list_directory(folder));
  };
  const auto write_one = [this] {
    MUST(env::write_file_atomically(at("mine"), "bytes"));
    MUST(unmount_folder(folder_, Unmount::kUnused));
  };
  branch_ = {.name = "job.train.0", .term = 1, .from_base = true};
  serve_to_the_end(write_one);
  EXPECT_TRUE(logs().empty()) << "the branch has all of it";
  EXPECT_TRUE(data_.run(volume::find_branch(data_.volume(), "job.train.0")).record().sealed);
}

TEST_F(ServeBranchTest, TheLogOfABranchThatWentBackToItsBaseIsOfNoUse) {
  for (const bool from_base : {false, true}) {
    const std::string name = from_base ? "of-a-job" : "by-hand";
    branch_ = {.name = name, .term = 1, .from_base = from_base};
    mount_again();
    serve_while([this] { MUST(env::write_file_atomically(at("mine"), "bytes")); });
    volume::Volume next = opened();
    data_.run(volume::begin_branch(next, {.name = name, .term = 2, .from_base = from_base}));
    data_.run(next.end_session());
    volume::Volume volume = opened();
    ServeOptions all = options();
    all.takes_over = true;
    EXPECT_EQ(
        data_.try_run(serve_branch(*data_.loop(), volume, packs_, std::move(all), {})).error().code,
        Errc::kConflict);
    const std::string log =
        temporary_.path() + "/writing/" + data_.volume().head().uuid + "/" + log_of_branch(name, 1);
    EXPECT_EQ(env::exists(log), !from_base) << name;
    MUST(unmount_folder(folder_, Unmount::kLazy));
  }
}

// Also where nobody serves it any more.
TEST_F(ServeBranchTest, WhatALogHasLostIsToldWhenItsRestIsPublished) {
  serve_while([this] {
    for (const char* const name : {"first", "second"}) {
      const int file = ::open(at(name).c_str(), O_CREAT | O_WRONLY, 0644);
      write(file, name);
      EXPECT_EQ(::close(file), 0);
    }
  });
  const std::string log =
      temporary_.path() + "/writing/" + data_.volume().head().uuid + "/main/000001.log";
  std::string bytes = MUST(env::read_file(log));
  const std::size_t place = bytes.find("first");
  ASSERT_NE(place, std::string::npos);
  bytes[place] = 'F';
  MUST(env::write_file_atomically(log, bytes));
  volume::Volume volume = opened();
  data_.run(publish_branch(*data_.loop(), volume, packs_, options(), {}));
  EXPECT_NE(said_.find("changes at the end of the log are gone"), std::string::npos) << said_;
  EXPECT_FALSE(contents().contains("second"));
}

TEST_F(ServeBranchTest, AMountThatIsReadAloneHasNothingToPublish) {
  EXPECT_EQ(publish_mount(temporary_.path()).error().code, Errc::kUnsupported);
}

}  // namespace
}  // namespace runnel::fuse
