#include "fuse/mount_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <ctime>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "async/socket.h"
#include "async/together.h"
#include "async/worker.h"
#include "env/clock.h"
#include "env/file_lock.h"
#include "env/files.h"
#include "env/process.h"
#include "env/random.h"
#include "env/testing/temporary_directory.h"
#include "fuse/mount_point.h"
#include "volume/put.h"
#include "volume_server/ask_warm_up.h"
#include "volume_server/pack_client.h"

namespace runnel::fuse {
namespace {

using volume_server::ask_warm_up;
using volume_server::HandedMount;
using volume_server::MountNews;
using volume_server::MountRequest;
using volume_server::receive_news;
using volume_server::send_alone;
using volume_server::send_mount;
using volume_server::send_news;

// Real mounts of a volume in a folder; their users are on another thread than the loop's.
class MountServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!env::is_root() || ::access("/dev/fuse", R_OK | W_OK) != 0) {
      GTEST_SKIP() << "only root may open /dev/fuse here";
    }
    for (const std::string name : {"source", "volumes"}) MUST(env::make_directories(at(name)));
    for (int number = 0; number < 50; ++number) {
      MUST(env::write_file_atomically(at("source/" + std::to_string(number)),
                                      std::string(10'000, static_cast<char>('a' + number % 26))));
    }
    version_ = put();
  }

  std::string at(const std::string& name) const { return place_ + "/" + name; }
  std::string put() {
    const auto opened =
        MUST(object::OpenedStore::open(*loop_, env::real_clock(), env::real_random(), store_url()));
    volume::VolumeContext context{opened->store(), env::real_clock(), env::real_random(), {}};
    volume::Volume volume = MUST(loop_->block_on(volume::Volume::create(context, "data")));
    const auto done = MUST(loop_->block_on(
        put_tree(*loop_, volume, MUST(volume::SourceTree::open(at("source"))), {}, {})));
    head_ = volume.seen_head();
    MUST(loop_->block_on(opened->stop()));
    return done.manifest.version;
  }
  object::StoreUrl store_url() const {
    return MUST(object::parse_store_url("file://" + at("volumes")));
  }

  // A mount and its holder's end of the connection.
  struct Held {
    std::unique_ptr<MountPoint> mount;
    async::UniqueFd server;
  };
  Held hand_over(const std::string& name, std::string version = "", std::string cache = "",
                 std::optional<volume::SeenHead> head = std::nullopt, bool hears_errors = false) {
    const std::string folder = at(name);
    MUST(env::make_directories(folder));
    Held held{MUST(MountPoint::create(folder, "runnel:" + name)), {}};
    const std::string first = MUST(held.mount->first_message());
    HandedMount handed;
    handed.first_message = async::UniqueFd(::memfd_create("first", MFD_CLOEXEC));
    EXPECT_EQ(::pwrite(handed.first_message.get(), first.data(), first.size(), 0),
              std::ssize(first));
    handed.connection = async::UniqueFd(::fcntl(held.mount->descriptor(), F_DUPFD_CLOEXEC, 0));
    handed.request = {.volume = "data",
                      .version = version.empty() ? version_ : version,
                      .store = store_url().to_string(),
                      .folder = folder,
                      .cache = std::move(cache),
                      .cache_bytes = 128 << 20,
                      .head = std::move(head),
                      .hears_errors = hears_errors};
    held.server = connected();
    EXPECT_EQ(::fcntl(held.server.get(), F_SETFL, 0), 0);
    MUST(send_mount(held.server.get(), handed));
    return held;
  }
  MountRequest warm_up_of(std::string cache) const {
    return {.volume = "data",
            .version = version_,
            .store = store_url().to_string(),
            .cache = std::move(cache),
            .cache_bytes = 128 << 20,
            .warm_up = ""};
  }
  // Once the server is there.
  async::UniqueFd connected() const {
    Result<async::UniqueFd> connected = async::connect_unix(at("socket"));
    for (int tries = 0; tries < 500 && !connected.ok(); ++tries) {
      ::usleep(10'000);
      connected = async::connect_unix(at("socket"));
    }
    return MUST(std::move(connected));
  }
  static MountNews news_of(const Held& held) {
    const auto news = receive_news(held.server.get());
    return news ? *news : MountNews{MountNews::Kind::kFailed, "no word"};
  }
  void expect_all_in(const std::string& name) const {
    for (int number = 0; number < 50; ++number) {
      EXPECT_EQ(env::read_file(at(name + "/" + std::to_string(number))).value_or("unreadable"),
                std::string(10'000, static_cast<char>('a' + number % 26)));
    }
  }
  void lose_packs() const { std::filesystem::remove_all(at("volumes/data/p")); }
  // Reads a file that cannot be had.
  void expect_error_in(const std::string& name) const {
    EXPECT_FALSE(env::read_file(at(name + "/0")).ok());
  }
  // Bytes of a pack, as a process without a mount has them of the server; "" where it gives none.
  static constexpr std::size_t kPlace = 100;
  static constexpr std::size_t kLength = 100;
  std::string part_of(const std::string& pack, const std::string& cache) {
    const auto loop = MUST(async::EventLoop::create());
    MountRequest request{.volume = "data",
                         .version = version_,
                         .store = store_url().to_string(),
                         .cache = cache,
                         .cache_bytes = 128 << 20,
                         .reads_packs = true};
    volume_server::PackClient client(*loop, {at("socket"), {}}, request);
    std::string bytes(kLength, '\0');
    const volume::ObjectRange range{MUST(volume::ObjectId::parse(pack)), kPlace, kLength};
    const bool is_served = MUST(loop->block_on(client.connect({})));
    const bool is_read = MUST(loop->block_on(client.read(range, bytes, {}, {})));
    MUST(loop->block_on(client.close()));
    return is_served && is_read ? bytes : "";
  }
  // Serves while `user` is at it, and until nobody has needed it for a while.
  void serve_for(const std::function<void()>& user) {
    const std::unique_ptr<async::Worker> worker =
        MUST(async::Worker::create(*loop_, {.name = "user"}));
    MountServer server(*loop_, at("socket"), [this](const auto& line) { said_ += line; });
    async::Gate gate(*loop_);
    MUST(loop_->spawn(gate, worker->run(user)));
    const Result<void> served = loop_->block_on(server.run({}));
    EXPECT_TRUE(served.ok()) << served.error().to_string();
    MUST(loop_->block_on(gate.close()));
    MUST(loop_->block_on(worker->stop()));
  }

  env::testing::TemporaryDirectory temporary_;
  const std::string place_ = MUST(env::real_path(temporary_.path()));
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  std::string version_;
  std::optional<volume::SeenHead> head_;
  std::string said_;
};

TEST_F(MountServerTest, WhatOneMountHasFetchedIsThereForAnother) {
  serve_for([this] {
    const Held one = hand_over("one");
    const Held two = hand_over("two");
    ASSERT_EQ(news_of(one).kind, MountNews::Kind::kServing);
    ASSERT_EQ(news_of(two).kind, MountNews::Kind::kServing);
    expect_all_in("one");
    lose_packs();
    expect_all_in("two");
    MUST(unmount_folder(at("one"), Unmount::kUnused));
    EXPECT_EQ(news_of(one).kind, MountNews::Kind::kEnded);
    expect_all_in("two");
  });
  EXPECT_EQ(said_, "");
  EXPECT_FALSE(env::exists(at("socket"))) << "it has ended by itself";
}

TEST_F(MountServerTest, WhoReadsPacksHasWhatAMountHasFetched) {
  serve_for([this] {
    const Held one = hand_over("one");
    ASSERT_EQ(news_of(one).kind, MountNews::Kind::kServing);
    expect_all_in("one");
    const auto pack = MUST(env::list_directory(at("volumes/data/p"))).at(0);
    const std::string bytes = MUST(env::read_file(at("volumes/data/p/" + pack)));
    lose_packs();
    EXPECT_EQ(part_of(pack, ""), bytes.substr(kPlace, kLength));
    MUST(unmount_folder(at("one"), Unmount::kUnused));
  });
}

TEST_F(MountServerTest, WhoReadsPacksIsServedThoughAnotherProcessHasItsCache) {
  const env::FileLock taken = [this] {
    MUST(env::make_directories(at("cache")));
    return MUST(env::FileLock::acquire(at("cache/lock")));
  }();
  serve_for([this] {
    const auto pack = MUST(env::list_directory(at("volumes/data/p"))).at(0);
    const std::string bytes = MUST(env::read_file(at("volumes/data/p/" + pack)));
    EXPECT_EQ(part_of(pack, at("cache")), bytes.substr(kPlace, kLength));
  });
  EXPECT_FALSE(env::exists(at("cache/format")));
}

TEST_F(MountServerTest, WhoeverHoldsAMountIsToldWhatReadersCouldNotHave) {
  serve_for([this] {
    const Held one = hand_over("one", "", "", std::nullopt, true);
    const Held two = hand_over("two");
    ASSERT_EQ(news_of(one).kind, MountNews::Kind::kServing);
    ASSERT_EQ(news_of(two).kind, MountNews::Kind::kServing);
    lose_packs();
    expect_error_in("one");
    expect_error_in("two");
    const MountNews damaged = news_of(one);
    EXPECT_EQ(damaged.kind, MountNews::Kind::kDamaged);
    EXPECT_NE(damaged.why.find("volume fsck data"), std::string::npos) << damaged.why;
    for (const std::string name : {"one", "two"}) MUST(unmount_folder(at(name), Unmount::kUnused));
    EXPECT_EQ(news_of(two).kind, MountNews::Kind::kEnded) << "who did not ask hears of no errors";
  });
  EXPECT_NE(said_.find(at("two") + ": a request failed: "), std::string::npos) << said_;
}

TEST_F(MountServerTest, ACacheOnTheDiskIsSharedAndGoesOn) {
  serve_for([this] {
    const Held one = hand_over("one", "", at("cache"));
    const Held two = hand_over("two", "", at("cache"));
    ASSERT_EQ(news_of(one).kind, MountNews::Kind::kServing);
    ASSERT_EQ(news_of(two).kind, MountNews::Kind::kServing);
    expect_all_in("one");
  });
  lose_packs();
  serve_for([this] {
    const Held three = hand_over("three", "", at("cache"));
    ASSERT_EQ(news_of(three).kind, MountNews::Kind::kServing);
    expect_all_in("three");
  });
}

TEST_F(MountServerTest, TheCacheOfAMountIsWarmedUp) {
  serve_for([this] {
    const Held one = hand_over("one", "", at("cache"));
    ASSERT_EQ(news_of(one).kind, MountNews::Kind::kServing);
    int told = 0;
    const auto asked = MUST(
        ask_warm_up(at("socket"), warm_up_of(at("cache")), [&](const volume::WarmUp&) { ++told; }));
    ASSERT_TRUE(asked);
    const volume::WarmUp& done = *asked;
    EXPECT_EQ(done.files, 50);
    EXPECT_EQ(done.version, version_);
    EXPECT_EQ(done.fetched, done.bytes);
    EXPECT_GT(done.bytes, 0);
    EXPECT_GE(told, 2);
    lose_packs();
    expect_all_in("one");
  });
}

TEST_F(MountServerTest, AWarmUpSaysWhatIsWrong) {
  serve_for([this] {
    const Held one = hand_over("one", "", at("cache"));
    ASSERT_EQ(news_of(one).kind, MountNews::Kind::kServing);
    MountRequest request = warm_up_of(at("cache"));
    request.warm_up = "nothing";
    const auto done = ask_warm_up(at("socket"), request, [](const volume::WarmUp&) {});
    ASSERT_FALSE(done.ok());
    EXPECT_EQ(done.error().code, Errc::kIo);
    EXPECT_NE(done.error().message.find("there is no 'nothing'"), std::string::npos)
        << done.error().message;
    expect_all_in("one");
  });
}

// Not the same as that nobody serves: another process has the cache then.
class EndingServerTest : public MountServerTest {
 public:
  // `serve` has the connection and ends with it.
  void expect_told(const MountRequest& request, const std::function<void(int)>& serve) {
    const async::UniqueFd listening = MUST(async::listen_unix(at("socket")));
    std::thread server([&] {
      pollfd waiting{listening.get(), POLLIN, 0};
      EXPECT_EQ(::poll(&waiting, 1, -1), 1);
      const async::UniqueFd asking(::accept(listening.get(), nullptr, nullptr));
      serve(asking.get());
    });
    const auto asked = ask_warm_up(at("socket"), request, [](const volume::WarmUp&) {});
    server.join();
    ASSERT_FALSE(asked.ok());
    EXPECT_EQ(asked.error().code, Errc::kUnavailable);
    EXPECT_NE(asked.error().message.find("has ended meanwhile"), std::string::npos)
        << asked.error().message;
  }
};

TEST_F(EndingServerTest, WhoWaitsForAWarmUpIsToldSo) {
  expect_told(warm_up_of(at("cache")), [](int asking) {
    std::array<char, 4096> request{};
    EXPECT_GT(::recv(asking, request.data(), request.size(), 0), 0);
    send_news(asking, {MountNews::Kind::kWarming, "", {}});
  });
}

TEST_F(EndingServerTest, WhoStillAsksForAWarmUpIsToldSo) {
  MountRequest request = warm_up_of(at("cache"));
  request.warm_up = std::string(512 << 10, 'a');  // More than a socket keeps.
  expect_told(request, [](int asking) {
    char first = 0;
    EXPECT_EQ(::recv(asking, &first, 1, 0), 1);
  });
}

TEST_F(MountServerTest, TheHeadThatIsHandedOnIsTheOneThatIsUsed) {
  serve_for([this] {
    const Held one = hand_over("one", "", "", volume::SeenHead{"\"etag\"", "no head"});
    const MountNews refused = news_of(one);
    EXPECT_EQ(refused.kind, MountNews::Kind::kFailed);
    EXPECT_NE(refused.why.find("head"), std::string::npos) << refused.why;
    const Held two = hand_over("two", "", "", head_);
    ASSERT_EQ(news_of(two).kind, MountNews::Kind::kServing);
    expect_all_in("two");
  });
}

TEST_F(MountServerTest, AWarmUpOfACacheThatNoMountHasIsDone) {
  serve_for([this] {
    const async::UniqueFd until_it_is_there = connected();
    EXPECT_TRUE(
        ask_warm_up(at("socket"), warm_up_of(at("cache")), [](const volume::WarmUp&) {}).ok());
    lose_packs();
    const Held one = hand_over("one", "", at("cache"));
    ASSERT_EQ(news_of(one).kind, MountNews::Kind::kServing);
    expect_all_in("one");
  });
  EXPECT_FALSE(
      MUST(ask_warm_up(at("socket"), warm_up_of(at("cache")), [](const volume::WarmUp&) {})));
}

// As on a network file system that is away: a store, or a cache.
class DeadFolderTest : public MountServerTest, public ::testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(StoreOrCache, DeadFolderTest, ::testing::Bool());

TEST_P(DeadFolderTest, OneThatDoesNotAnswerHoldsUpNoOther) {
  MUST(env::make_directories(at("dead")));
  const std::unique_ptr<MountPoint> dead = MUST(MountPoint::create(at("dead"), "runnel:dead"));
  MountRequest request = warm_up_of(at(GetParam() ? "cache" : "dead/cache"));
  if (GetParam()) request.store = "file://" + at("dead/volumes");
  serve_for([&] {
    const async::UniqueFd waits = connected();
    EXPECT_EQ(::fcntl(waits.get(), F_SETFL, 0), 0);
    MUST(send_alone(waits.get(), request));
    {
      const Held one = hand_over("one", "", at("other cache"));
      ASSERT_EQ(news_of(one).kind, MountNews::Kind::kServing);
      expect_all_in("one");
    }
    dead->leave_dead();
    const auto news = receive_news(waits.get());
    ASSERT_TRUE(news);
    EXPECT_EQ(news->kind, MountNews::Kind::kFailed);
  });
  MUST(unmount_folder(at("dead"), Unmount::kLazy));
}

TEST_F(MountServerTest, OneThatCannotBeServedHarmsNoOther) {
  serve_for([this] {
    const Held bad = hand_over("bad", "fedcba9876543210");
    const Held good = hand_over("good");
    const MountNews why = news_of(bad);
    EXPECT_EQ(why.kind, MountNews::Kind::kFailed);
    EXPECT_NE(why.why.find("fedcba9876543210"), std::string::npos) << why.why;
    ASSERT_EQ(news_of(good).kind, MountNews::Kind::kServing);
    expect_all_in("good");
  });
}

TEST_F(MountServerTest, AMountOutlivesItsHolder) {
  serve_for([this] {
    Held one = hand_over("one");
    ASSERT_EQ(news_of(one).kind, MountNews::Kind::kServing);
    one.server.reset();
    expect_all_in("one");
  });
}

TEST_F(MountServerTest, WhoSaysNothingKeepsItFromNoEnd) {
  serve_for([this] {
    const async::UniqueFd silent = connected();
    for (int tries = 0; tries < 500 && env::exists(at("socket")); ++tries) ::usleep(10'000);
    EXPECT_FALSE(env::exists(at("socket")));
  });
}

// Lets this process open no file while it is there.
class NoMoreFiles {
 public:
  NoMoreFiles() {
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const async::UniqueFd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(next.get());
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &now), 0);
  }
  ~NoMoreFiles() { EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

double cpu_seconds() { return static_cast<double>(::clock()) / CLOCKS_PER_SEC; }

TEST_F(MountServerTest, WithoutADescriptorForTheNextItWaitsForOne) {
  serve_for([this] {
    const Held one = hand_over("one");
    ASSERT_EQ(news_of(one).kind, MountNews::Kind::kServing);
    const async::UniqueFd next(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    at("socket").copy(address.sun_path, sizeof address.sun_path - 1);
    {
      const NoMoreFiles none;
      const auto* const to = reinterpret_cast<const sockaddr*>(&address);
      ASSERT_EQ(::connect(next.get(), to, sizeof address), 0);
      const double before = cpu_seconds();
      ::usleep(1'000'000);
      EXPECT_LT(cpu_seconds() - before, 0.2);
    }
    const Held two = hand_over("two");
    ASSERT_EQ(news_of(two).kind, MountNews::Kind::kServing);
    expect_all_in("two");
  });
  EXPECT_NE(said_.find("open files"), std::string::npos) << said_;
  EXPECT_EQ(said_.find("open files"), said_.rfind("open files")) << "it is said once";
}

TEST_F(MountServerTest, AnotherServerIsNotNeeded) {
  serve_for([this] {
    const async::UniqueFd first = connected();
    const auto loop = MUST(async::EventLoop::create());
    MountServer second(*loop, at("socket"), [](const auto&) {});
    EXPECT_EQ(loop->block_on(second.run({})).error().code, Errc::kConflict);
  });
}

}  // namespace
}  // namespace runnel::fuse
