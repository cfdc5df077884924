#include "fuse/serve_mount.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "async/together.h"
#include "async/worker.h"
#include "base/split_mix.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/process.h"
#include "env/testing/temporary_directory.h"
#include "fuse/mount_point.h"
#include "object/forwarding_store.h"
#include "object/memory/memory_store.h"
#include "volume/put.h"

namespace runnel::fuse {
namespace {

class MountNumbers final : public env::Random {
 public:
  std::uint64_t next() override { return numbers_.next(); }

 private:
  SplitMix64 numbers_{21};
};

std::string some_bytes(std::size_t size, std::uint64_t seed) {
  SplitMix64 numbers(seed);
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(numbers.next());
  return bytes;
}

// Counts requests, and how many of them waited for one another.
class CountedRows final : public object::ForwardingStore {
 public:
  CountedRows(async::EventLoop& loop, object::ObjectStore& inner)
      : ForwardingStore(inner), loop_(loop) {}

  int requests() const { return requests_; }
  int in_a_row() const { return in_a_row_; }

  Async<object::Object> get(std::string key, std::int64_t limit, async::StopToken stop) override {
    const int row = CO_TRY(co_await begin());
    Result<object::Object> got = co_await inner().get(std::move(key), limit, std::move(stop));
    end(row);
    co_return got;
  }
  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override {
    const int row = CO_TRY(co_await begin());
    Result<void> read =
        co_await inner().read(std::move(key), std::move(stamp), offset, into, std::move(stop));
    end(row);
    co_return read;
  }
  Async<std::string> put(std::string key, object::Body bytes, object::Condition condition,
                         async::StopToken stop) override {
    const int row = CO_TRY(co_await begin());
    Result<std::string> put = co_await inner().put(std::move(key), std::move(bytes),
                                                   std::move(condition), std::move(stop));
    end(row);
    co_return put;
  }

 private:
  // Long enough for others to begin beside it.
  Async<int> begin() {
    ++requests_;
    const int row = in_a_row_ + 1;
    CO_TRY(co_await loop_.sleep(Duration::millis(20), {}));
    co_return row;
  }
  void end(int row) { in_a_row_ = std::max(in_a_row_, row); }

  async::EventLoop& loop_;
  int requests_ = 0;
  int in_a_row_ = 0;
};

// A real mount of a volume in memory; files are read on another thread than the loop's.
class ServeMountTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!env::is_root() || ::access("/dev/fuse", R_OK | W_OK) != 0) {
      GTEST_SKIP() << "only root may open /dev/fuse here";
    }
    MUST(env::make_directories(folder_));
    write("text", std::string(300'000, 'a'));
    write("long", some_bytes(5'000'000, 1));
    for (int number = 0; number < 300; ++number) {
      write("many/" + std::to_string(number),
            some_bytes(3'000, static_cast<std::uint64_t>(number)));
    }
    Volume volume = run(Volume::create(context(), "data"));
    run(put_tree(*loop_, volume, MUST(volume::SourceTree::open(source_)), {}, {}));
    mount_ = MUST(MountPoint::create(folder_, "runnel:data@test"));
    first_message_ = MUST(mount_->first_message());
  }

  void TearDown() override { run(packs_.close()); }

  using Volume = volume::Volume;
  volume::VolumeContext context() { return {store_, env::real_clock(), random_, {}}; }
  template <typename T>
  T run(Async<T> work) {
    return MUST(loop_->block_on(std::move(work)));
  }
  void write(const std::string& name, const std::string& bytes) {
    MUST(env::make_directories(env::parent_of(source_ + "/" + name)));
    MUST(env::write_file_atomically(source_ + "/" + name, bytes));
    files_[name] = bytes;
  }

  // Serves until `user`, which runs on a thread of its own, has returned.
  void serve_while(std::function<void()> user, bool takes_over = false) {
    Volume volume = run(Volume::open(context(), "data"));
    serve_while(volume, std::move(user), {}, takes_over);
  }
  void serve_while(Volume& volume, std::function<void()> user, std::function<void()> serving,
                   bool takes_over = false) {
    const std::unique_ptr<async::Worker> worker =
        MUST(async::Worker::create(*loop_, {.name = "reader"}));
    std::vector<async::Stoppable<void>> runners;
    runners.push_back([&](async::StopToken stop) {
      ServeOptions options;
      options.version = "latest";
      options.connection = async::UniqueFd(::dup(mount_->descriptor()));
      options.first_message = first_message_;
      options.takes_over = takes_over;
      options.serving = serving;
      return serve_mount(*loop_, volume, packs_, std::move(options), std::move(stop));
    });
    runners.push_back([&](async::StopToken) { return worker->run(user); });
    const auto raced = run(async::race<void>(*loop_, std::move(runners)));
    EXPECT_EQ(raced.winner, 1U) << raced.result.error().to_string();
    run(worker->stop());
  }
  void read_all() {
    for (const auto& [name, bytes] : files_) {
      EXPECT_EQ(env::read_file(folder_ + "/" + name).value_or("unreadable"), bytes) << name;
    }
    EXPECT_EQ(MUST(env::list_directory(folder_ + "/many")).size(), 300U);
    EXPECT_FALSE(env::exists(folder_ + "/nowhere"));
  }

  env::testing::TemporaryDirectory temporary_;
  const std::string source_ = temporary_.path() + "/source";
  const std::string folder_ = MUST(env::real_path(temporary_.path())) + "/mount";
  std::map<std::string, std::string> files_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  object::MemoryStore store_;
  MountNumbers random_;
  volume::PackCache packs_{
      *loop_, {store_, "data/"}, {.memory = std::make_shared<volume::ReaderMemory>(64 << 20)}, {}};
  std::unique_ptr<MountPoint> mount_;
  std::string first_message_;
};

// A volume may be somebody else's, and all files are its mounter's.
TEST_F(ServeMountTest, ShowsNoSetUserId) {
  Volume volume = run(Volume::open(context(), "data"));
  volume::Edit root = volume::Edit::folder();
  root.entries["tool"].node.hash = hash::sha256("");
  root.entries["tool"].node.mode = 04755;
  run(volume.publish(root, {}, 0, ""));
  serve_while([this] {
    struct stat seen{};
    EXPECT_EQ(::stat((folder_ + "/tool").c_str(), &seen), 0);
    EXPECT_EQ(seen.st_mode & 07777U, 0755U);
  });
}

// The kernel takes 1,024 pieces at once: who reads more of them would never be answered.
TEST_F(ServeMountTest, AFileOfManyShortPiecesIsRead) {
  constexpr std::size_t kPieces = 5'000;
  Volume volume = run(Volume::open(context(), "data"));
  volume::Edit root = volume::Edit::folder();
  volume::Node& file = root.entries["holes"].node;
  file.size = kPieces;
  for (std::size_t piece = 0; piece < kPieces; ++piece) {
    file.extents.emplace_back();
    file.extents.back().length = 1;
  }
  run(volume.publish(root, {}, 0, ""));
  serve_while([this] {
    EXPECT_EQ(env::read_file(folder_ + "/holes").value_or("unreadable"),
              std::string(kPieces, '\0'));
  });
}

TEST_F(ServeMountTest, OfAHeadThatWasSeenItIsServedAfterTwoRequestsInARow) {
  const volume::SeenHead seen = run(Volume::open(context(), "data")).seen_head();
  CountedRows rows(*loop_, store_);
  Volume volume = run(Volume::open_seen({rows, env::real_clock(), random_, {}}, "data", seen));
  EXPECT_EQ(rows.requests(), 0);
  int in_a_row = 0;
  int requests = 0;
  const auto serving = [&] {
    in_a_row = rows.in_a_row();
    requests = rows.requests();
  };
  serve_while(volume, [this] { read_all(); }, serving);
  EXPECT_EQ(in_a_row, 2) << "its session, and whether that came in time";
  EXPECT_EQ(requests, 3) << "and the index beside them";
}

TEST_F(ServeMountTest, GivesWhatWasPut) {
  serve_while([this] {
    read_all();
    read_all();
  });
  EXPECT_EQ(mounts().value_or(std::vector<Mounted>()).back().source, "runnel:data@test");
}

TEST_F(ServeMountTest, IsTakenOver) {
  serve_while([this] { EXPECT_EQ(MUST(env::list_directory(folder_)).size(), 3U); });
  serve_while([this] { read_all(); }, true);
}

TEST_F(ServeMountTest, EndsWithTheMount) {
  Volume volume = run(Volume::open(context(), "data"));
  ServeOptions options;
  options.version = "latest";
  options.connection = async::UniqueFd(::dup(mount_->descriptor()));
  options.first_message = first_message_;
  options.serving = [this] { MUST(unmount_folder(folder_, Unmount::kUnused)); };
  run(serve_mount(*loop_, volume, packs_, std::move(options), {}));
  std::int64_t sessions = 0;
  for (const auto& [key, object] : store_.objects()) sessions += key.starts_with("data/s/");
  EXPECT_EQ(sessions, 0) << "nobody holds the version any more";
}

TEST_F(ServeMountTest, AVersionThatIsNotThereIsNotServed) {
  Volume volume = run(Volume::open(context(), "data"));
  ServeOptions options;
  options.version = "abcd";
  options.connection = async::UniqueFd(::dup(mount_->descriptor()));
  options.first_message = first_message_;
  const Result<void> served =
      loop_->block_on(serve_mount(*loop_, volume, packs_, std::move(options), {}));
  ASSERT_FALSE(served.ok());
  EXPECT_EQ(served.error().code, Errc::kNotFound);
}

// A server that stands still has the connection, too.
TEST_F(ServeMountTest, OneThatIsGivenUpAnswersWhoWaitsAndHidesWhatLiesBelow) {
  const async::UniqueFd of_the_server(::dup(mount_->descriptor()));
  int reason = 0;
  std::thread reader([&] {
    struct stat file{};
    if (::stat((folder_ + "/text").c_str(), &file) != 0) reason = errno;
  });
  mount_->leave_dead();
  mount_.reset();
  reader.join();
  EXPECT_TRUE(reason == ENOTCONN || reason == ECONNABORTED) << reason;
  EXPECT_TRUE(mount_in(folder_).has_value());
  MUST(unmount_folder(folder_, Unmount::kLazy));
}

}  // namespace
}  // namespace runnel::fuse
