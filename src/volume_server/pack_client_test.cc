#include "volume_server/pack_client.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "async/socket.h"
#include "async/together.h"
#include "base/split_mix.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "object/forwarding_store.h"
#include "object/memory/memory_store.h"
#include "volume/pack_cache.h"
#include "volume_server/pack_service.h"

namespace runnel::volume_server {
namespace {

using volume::Freshness;
using volume::ObjectRange;

constexpr std::uint64_t kPackBytes = 3'000'000;

// A store that counts what is read, and may let it wait.
class CountedReads final : public object::ForwardingStore {
 public:
  CountedReads(async::EventLoop& loop, object::ObjectStore& inner)
      : ForwardingStore(inner), changed_(loop) {}

  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override {
    ++reads;
    changed_.notify_all();
    while (is_away_) CO_TRY(co_await changed_.wait(stop));
    co_return co_await ForwardingStore::read(std::move(key), std::move(stamp), offset, into,
                                             std::move(stop));
  }

  void set_away(bool is_away) {
    is_away_ = is_away;
    changed_.notify_all();
  }
  Async<void> until_asked(int times) {
    while (reads < times) CO_TRY(co_await changed_.wait());
    co_return {};
  }

  int reads = 0;

 private:
  async::Notifier changed_;
  bool is_away_ = false;
};

// A server of volumes that has one pack, and can be killed.
class Server {
 public:
  Server(async::EventLoop& loop, const std::string& socket, object::ObjectStore& store)
      : loop_(loop),
        listener_(loop, MUST(async::listen_unix(socket))),
        socket_(socket),
        packs_(loop, {store, "data/"}, {.memory = memory_}, {}),
        serving_(loop) {
    MUST(loop.spawn(serving_, accept_all(serving_.token())));
  }
  void kill() {
    if (serving_.closed()) return;
    async::remove_unix_socket(socket_, listener_.descriptor());
    MUST(loop_.block_on(end()));
  }
  Async<void> end() {
    MUST(co_await packs_.close());
    co_return co_await serving_.close();
  }

  int connections = 0;
  int ended = 0;
  std::string refusal;  // What is said instead of serving; empty: it serves.

 private:
  Async<void> accept_all(async::StopToken stop) {
    while (true) {
      async::UniqueFd connection = CO_TRY(co_await listener_.accept(stop));
      ++connections;
      CO_TRY(loop_.spawn(serving_, serve(std::move(connection))));
    }
  }
  Async<void> serve(async::UniqueFd connection) {
    const HandedMount asked = CO_TRY(
        co_await receive_mount(loop_, connection.get(), Duration::seconds(10), serving_.token()));
    EXPECT_TRUE(asked.request.reads_packs);
    const auto kind = refusal.empty() ? MountNews::Kind::kServing : MountNews::Kind::kFailed;
    send_news(connection.get(), {kind, refusal});
    if (!refusal.empty()) co_return {};
    PackService service(loop_, std::move(connection), packs_);
    const Result<void> served = co_await service.serve(serving_.token());
    ++ended;
    co_return served;
  }

  async::EventLoop& loop_;
  async::Listener listener_;
  const std::string socket_;
  const std::shared_ptr<volume::ReaderMemory> memory_ =
      std::make_shared<volume::ReaderMemory>(std::size_t{16} << 20);
  volume::PackCache packs_;
  async::Gate serving_;
};

MountRequest request() {
  return {.volume = "data",
          .version = "0123456789abcdef",
          .store = "file:///volumes",
          .reads_packs = true,
          .format = MountRequest::kPacksFormat};
}

class PackClientTest : public ::testing::Test {
 protected:
  PackClientTest() {
    SplitMix64 numbers(5);
    for (char& c : pack_) c = static_cast<char>(numbers.next());
    id_ = volume::ObjectId::of(pack_, "12345678");
    store_pack(pack_);
    serve();
    first_ = reader();
    second_ = reader();
    for (PackClient* const each : {first_.get(), second_.get()}) {
      EXPECT_TRUE(MUST(loop_->block_on(each->connect({}))));
    }
  }
  ~PackClientTest() override {
    for (PackClient* const each : {first_.get(), second_.get()}) {
      MUST(loop_->block_on(each->close()));
    }
    if (server_ != nullptr) server_->kill();
  }

  void store_pack(const std::string& bytes) {
    memory_.objects()["data/" + pack_key(id_)] = {bytes, "1"};
  }
  void serve() { server_ = std::make_unique<Server>(*loop_, socket(), store_); }
  std::string socket() const { return folder_.path() + "/mounts.sock"; }
  std::unique_ptr<PackClient> reader() {
    // What is started in place of a server ends at once, and leaves a line that it was.
    const ServerPlace place{socket(),
                            {.argv = {"/bin/echo", "started"}, .log_file = folder_.file("log")},
                            Duration::millis(100)};
    return std::make_unique<PackClient>(*loop_, place, request());
  }
  std::string started() const { return env::read_file(folder_.file("log")).value_or(""); }

  Async<bool> reading(PackClient& reader, std::uint64_t offset, std::string& into,
                      Freshness freshness = Freshness::kAny, async::StopToken stop = {}) {
    return reader.read(ObjectRange{id_, offset, into.size()}, into, {.freshness = freshness},
                       std::move(stop));
  }
  // Gives way until it is true.
  void until(const std::function<bool()>& is_so) {
    for (int turns = 0; turns < 5'000 && !is_so(); ++turns) {
      MUST(loop_->block_on(loop_->sleep(Duration::millis(1))));
    }
    EXPECT_TRUE(is_so());
  }
  std::string read(PackClient& reader, std::uint64_t offset, std::size_t length,
                   Freshness freshness = Freshness::kAny) {
    std::string bytes(length, '\0');
    EXPECT_TRUE(MUST(loop_->block_on(reading(reader, offset, bytes, freshness))));
    return bytes;
  }
  Async<void> expect_none(PackClient& reader, std::string& into) {
    EXPECT_FALSE(CO_TRY(co_await reading(reader, 100, into)));
    co_return {};
  }
  Async<void> expect_cancelled(PackClient& reader, std::string& into, async::StopToken stop) {
    const Result<bool> none = co_await reading(reader, 0, into, Freshness::kAny, std::move(stop));
    EXPECT_EQ(none.error().code, Errc::kCancelled);
    co_return {};
  }
  // The first reader is stopped while it waits for a store that is away from then on.
  void stop_while_away() {
    store_.set_away(true);
    std::string bytes(1'000, '\0');
    async::StopSource stop;
    async::Gate asking(*loop_);
    MUST(loop_->spawn(asking, expect_cancelled(*first_, bytes, stop.token())));
    MUST(loop_->block_on(store_.until_asked(1)));
    stop.stop();
    MUST(loop_->block_on(asking.close()));
  }
  Result<bool> try_read(PackClient& reader, std::uint64_t offset = 0) {
    std::string bytes(1'000, '\0');
    return loop_->block_on(reading(reader, offset, bytes));
  }

  env::testing::TemporaryDirectory folder_;
  std::string pack_ = std::string(kPackBytes, '\0');
  volume::ObjectId id_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  object::MemoryStore memory_;
  CountedReads store_{*loop_, memory_};
  std::unique_ptr<Server> server_;
  std::unique_ptr<PackClient> first_;
  std::unique_ptr<PackClient> second_;
};

TEST_F(PackClientTest, WhatOneProcessHasReadIsFetchedForAll) {
  EXPECT_EQ(read(*first_, 0, 2'000'000), pack_.substr(0, 2'000'000));
  EXPECT_EQ(read(*second_, 0, 2'000'000), pack_.substr(0, 2'000'000));
  EXPECT_EQ(read(*second_, 500, 10), pack_.substr(500, 10));
  EXPECT_EQ(store_.reads, 1);
  EXPECT_EQ(server_->connections, 2);
}

TEST_F(PackClientTest, SeveralRangesAreAskedForAtOnce) {
  std::vector<std::string> parts(12, std::string(200'000, '\0'));
  std::vector<Async<bool>> all;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    all.push_back(reading(part % 2 == 0 ? *first_ : *second_, part * 200'000, parts[part]));
  }
  const std::vector<bool> read = MUST(loop_->block_on(async::when_all(*loop_, std::move(all))));
  EXPECT_EQ(std::ranges::count(read, true), 12);
  for (std::size_t part = 0; part < parts.size(); ++part) {
    EXPECT_EQ(parts[part], pack_.substr(part * 200'000, 200'000)) << part;
  }
}

TEST_F(PackClientTest, WhatIsDistrustedIsFetchedAnew) {
  std::string damaged = pack_;
  damaged[7] ^= 1;
  store_pack(damaged);
  EXPECT_EQ(read(*first_, 0, 100), damaged.substr(0, 100));
  store_pack(pack_);
  EXPECT_EQ(read(*second_, 0, 100), damaged.substr(0, 100)) << "as the server has it";
  EXPECT_EQ(read(*second_, 0, 100, Freshness::kAnew), pack_.substr(0, 100));
  EXPECT_EQ(read(*first_, 0, 100), pack_.substr(0, 100)) << "for all";
}

TEST_F(PackClientTest, WhatTheServerCannotHaveIsTheReadersOwnToFetch) {
  memory_.objects().clear();
  EXPECT_FALSE(MUST(try_read(*first_)));
  store_pack(pack_);
  EXPECT_TRUE(MUST(try_read(*first_))) << "the same connection goes on";
  EXPECT_EQ(server_->connections, 2);
}

TEST_F(PackClientTest, WhatADeadServerHasNotAnsweredIsFetchedAndTheNextOneIsAsked) {
  store_.set_away(true);
  std::string bytes(1'000, '\0');
  async::Gate asking(*loop_);
  MUST(loop_->spawn(asking, expect_none(*first_, bytes)));
  MUST(loop_->block_on(store_.until_asked(1)));
  server_->kill();
  serve();
  store_.set_away(false);
  MUST(loop_->block_on(asking.close()));
  EXPECT_FALSE(MUST(try_read(*second_))) << "while it looks for another one";
  until([this] { return MUST(try_read(*second_)); });
  EXPECT_EQ(read(*second_, 100, 1'000), pack_.substr(100, 1'000));
}

TEST_F(PackClientTest, WhoIsStoppedLeavesAStoreThatIsAway) {
  stop_while_away();
  store_.set_away(false);
  EXPECT_EQ(read(*second_, 0, 100), pack_.substr(0, 100));
}

TEST_F(PackClientTest, WhatNobodyWaitsForAnyMoreHoldsUpNoEnd) {
  stop_while_away();
  until([this] { return server_->ended == 1; });
}

TEST_F(PackClientTest, WhereNobodyServesOneIsStartedOnceInAWhile) {
  server_->kill();
  EXPECT_FALSE(MUST(try_read(*first_))) << "at once";
  until([this] { return started() == "started\n"; });
  MUST(loop_->block_on(loop_->sleep(Duration::millis(300))));
  EXPECT_FALSE(MUST(try_read(*first_)));
  MUST(loop_->block_on(loop_->sleep(Duration::millis(50))));
  EXPECT_EQ(started(), "started\n") << "within the pause";
}

TEST_F(PackClientTest, OneThatRefusesIsNotAsked) {
  server_->refusal = "a later build asks";
  const std::unique_ptr<PackClient> third = reader();
  EXPECT_FALSE(MUST(loop_->block_on(third->connect({}))));
  EXPECT_FALSE(MUST(try_read(*third)));
  EXPECT_EQ(server_->connections, 3);
  MUST(loop_->block_on(third->close()));
}

// Answers one question by as many bytes as are given, and is gone.
Async<void> answer_in_part(async::EventLoop& loop, int listener, std::string bytes) {
  CO_TRY(co_await loop.readable(listener));
  async::UniqueFd connection(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK));
  (void)CO_TRY(co_await receive_mount(loop, connection.get(), Duration::seconds(10), {}));
  send_news(connection.get(), {MountNews::Kind::kServing, ""});
  async::Stream stream(loop, std::move(connection));
  const auto asked = CO_TRY(co_await read_frame<PackQuestion>(stream));
  const auto head = std::bit_cast<FrameBytes<PackAnswer>>(
      PackAnswer{asked.number, static_cast<std::uint32_t>(asked.length)});
  CO_TRY(co_await stream.write_all({head.data(), head.size()}));
  CO_TRY(co_await stream.write_all(bytes));
  co_return {};
}

TEST_F(PackClientTest, HalfAnAnswerIsNone) {
  const async::UniqueFd listener = MUST(async::listen_unix(folder_.file("half")));
  PackClient client(
      *loop_, {folder_.file("half"), {.argv = {"/bin/true"}, .log_file = "/dev/null"}}, request());
  async::Gate serving(*loop_);
  MUST(loop_->spawn(serving, answer_in_part(*loop_, listener.get(), std::string(500, 'x'))));
  EXPECT_TRUE(MUST(loop_->block_on(client.connect({}))));
  EXPECT_FALSE(MUST(try_read(client)));
  MUST(loop_->block_on(serving.close()));
  MUST(loop_->block_on(client.close()));
}

TEST_F(PackClientTest, OneThatIsClosedAsksNobody) {
  const std::unique_ptr<PackClient> third = reader();
  EXPECT_TRUE(MUST(loop_->block_on(third->connect({}))));
  MUST(loop_->block_on(third->close()));
  EXPECT_FALSE(MUST(try_read(*third)));
  EXPECT_FALSE(MUST(loop_->block_on(third->connect({}))));
  EXPECT_EQ(server_->connections, 3);
}

TEST_F(PackClientTest, ARangeThatIsTooLongIsTheReadersOwn) {
  std::string bytes(kRangeMax + 1, '\0');
  EXPECT_FALSE(MUST(loop_->block_on(reading(*first_, 0, bytes))));
  EXPECT_EQ(store_.reads, 0);
}

}  // namespace
}  // namespace runnel::volume_server
