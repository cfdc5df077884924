#include "library/open_version.h"

#include <sys/socket.h>

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "async/socket.h"
#include "env/files.h"
#include "library/testing/stored_volume.h"

namespace runnel::library {
namespace {

using testing::StoredVolume;

class OpenVersionTest : public ::testing::Test {
 protected:
  Opening opening(const std::string& version = "latest") const {
    return {.reference = {stored_.url(), "data", version, ""}, .cache = {}};
  }
  // Where none can be started.
  volume_server::ServerPlace server_place() const {
    return {stored_.file("socket"),
            {.argv = {"/nothing/runnel"}, .log_file = stored_.file("log")},
            Duration::millis(50)};
  }
  static Result<std::uint64_t> size(OpenVersion& open, const std::string& path) {
    const Result<PathEnd> end = open.ask<PathEnd>(
        [&path](VersionReader& reader) { return reader.find(path, LastLink::kFollow); });
    if (!end.ok()) return end.error();
    CHECK(!end->refusal, "the path leads nowhere");
    return end->found.node.size;
  }

  StoredVolume stored_;
};

TEST_F(OpenVersionTest, FindsOutWhichVersionItIs) {
  stored_.write("file", "1");
  const std::string first = stored_.put();
  stored_.write("file", "22");
  const std::string second = stored_.put();
  const auto newest = MUST(OpenVersion::open(opening()));
  const auto begun = MUST(OpenVersion::open(opening(first.substr(0, 10))));
  EXPECT_EQ(newest->reference().version, second);
  EXPECT_EQ(begun->reference().version, first);
  EXPECT_NE(begun->reference().manifest, newest->reference().manifest);
  EXPECT_EQ(MUST(size(*newest, "file")), 2U);
  EXPECT_EQ(MUST(size(*begun, "file")), 1U);
}

TEST_F(OpenVersionTest, AnswersUntilItsEndAndRefusesAfterwards) {
  stored_.write("file", "1");
  stored_.put();
  const auto open = MUST(OpenVersion::open(opening()));
  EXPECT_EQ(stored_.objects("s").size(), 1U);
  EXPECT_FALSE(open->has_ended());
  EXPECT_TRUE(open->end());
  EXPECT_TRUE(open->has_ended());
  EXPECT_EQ(size(*open, "file").error().code, Errc::kGone);
  EXPECT_EQ(stored_.objects("s").size(), 0U);
  EXPECT_TRUE(open->end()) << "there is nothing more to end";
}

TEST_F(OpenVersionTest, EndsWithTheLastThatHasIt) {
  stored_.write("file", "1");
  stored_.put();
  MUST(OpenVersion::open(opening())).reset();
  EXPECT_EQ(stored_.objects("s").size(), 0U);
}

TEST_F(OpenVersionTest, ACacheThatAnotherProcessHasIsDoneWithout) {
  stored_.write("file", "1");
  stored_.put();
  Opening cached = opening();
  cached.cache = {stored_.file("cache"), Bytes::mebi(256)};
  const auto first = MUST(OpenVersion::open(cached));
  const auto second = MUST(OpenVersion::open(cached));
  EXPECT_EQ(MUST(size(*second, "file")), 1U);
  cached.cache->bytes = Bytes::mebi(1);
  cached.cache->folder = stored_.file("small");
  EXPECT_EQ(OpenVersion::open(cached).error().field, "cache-size") << "one that cannot be had";
}

// Says what it was asked for, and that it serves; then it answers nothing, and is gone.
Async<void> serve_one(async::EventLoop& loop, int listener, volume_server::MountRequest& asked) {
  CO_TRY(co_await loop.readable(listener));
  const async::UniqueFd connection(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK));
  asked = CO_TRY(co_await volume_server::receive_mount(loop, connection.get(),
                                                       Duration::seconds(10), {}))
              .request;
  volume_server::send_news(connection.get(), {volume_server::MountNews::Kind::kServing, ""});
  co_return co_await loop.readable(connection.get());
}

TEST_F(OpenVersionTest, AsksTheServerForItsPacksAndGoesOnWithoutIt) {
  stored_.write("file", "12");
  const std::string version = stored_.put();
  const async::UniqueFd listener = MUST(async::listen_unix(stored_.file("socket")));
  volume_server::MountRequest asked;
  const auto server = MUST(async::LoopThread::start(
      "server", [&](async::EventLoop& loop) { return serve_one(loop, listener.get(), asked); }));
  Opening served = opening();
  served.cache = {stored_.file("cache"), Bytes::mebi(256)};
  served.server.emplace(server_place());
  const auto open = MUST(OpenVersion::open(served));
  EXPECT_FALSE(env::exists(served.cache->folder)) << "it is the server's";
  const auto bytes = MUST(open->ask<VersionReader::SmallFile>(
      [](VersionReader& reader) { return reader.load("file", 10); }));
  EXPECT_EQ(bytes.pieces.at(0).bytes, "12");
  ASSERT_TRUE(server->wait_for_end(Duration::seconds(10)));
  EXPECT_TRUE(asked.reads_packs);
  EXPECT_EQ(asked.volume, "data");
  EXPECT_EQ(asked.version, version);
  EXPECT_EQ(asked.store, stored_.url());
  EXPECT_EQ(asked.cache, served.cache->folder);
  EXPECT_FALSE(asked.head) << "by whose keys it is read, these get what the server has";
}

// As one of an earlier build, which does not know what it is asked for.
Async<void> refuse_one(async::EventLoop& loop, int listener) {
  CO_TRY(co_await loop.readable(listener));
  const async::UniqueFd connection(::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK));
  volume_server::send_news(connection.get(),
                           {volume_server::MountNews::Kind::kFailed, "a later build asks"});
  co_return co_await loop.readable(connection.get());
}

TEST_F(OpenVersionTest, WhereTheServerRefusesItReadsByItselfAndHasItsOwnCache) {
  stored_.write("file", "12");
  stored_.put();
  const async::UniqueFd listener = MUST(async::listen_unix(stored_.file("socket")));
  const auto server = MUST(async::LoopThread::start(
      "server", [&](async::EventLoop& loop) { return refuse_one(loop, listener.get()); }));
  Opening refused = opening();
  refused.cache = {stored_.file("cache"), Bytes::mebi(256)};
  refused.server.emplace(server_place());
  const auto open = MUST(OpenVersion::open(refused));
  EXPECT_TRUE(env::exists(refused.cache->folder + "/format"));
  EXPECT_EQ(MUST(size(*open, "file")), 2U);
  EXPECT_TRUE(server->wait_for_end(Duration::seconds(10)));
}

TEST_F(OpenVersionTest, WhereNoServerCanBeStartedItReadsByItself) {
  stored_.write("file", "12");
  stored_.put();
  Opening alone = opening();
  alone.server.emplace(server_place());
  const auto open = MUST(OpenVersion::open(alone));
  const auto bytes = MUST(open->ask<VersionReader::SmallFile>(
      [](VersionReader& reader) { return reader.load("file", 10); }));
  ASSERT_EQ(bytes.pieces.size(), 1U);
  EXPECT_EQ(bytes.pieces[0].bytes, "12");
}

TEST_F(OpenVersionTest, ASessionIsAReadersOfThisProcess) {
  stored_.write("file", "1");
  stored_.put();
  const auto open = MUST(OpenVersion::open(opening()));
  const std::string text = MUST(env::read_file(stored_.path_of("s", stored_.objects("s").at(0))));
  const volume::SessionRecord record = MUST(volume::decode_session(text));
  EXPECT_EQ(record.kind, "reader");
  EXPECT_EQ(record.pid, ::getpid());
  EXPECT_EQ(record.pin, open->reference().manifest);
  EXPECT_FALSE(record.writes);
}

TEST_F(OpenVersionTest, SaysWhatIsNotThere) {
  stored_.write("file", "1");
  stored_.put();
  EXPECT_EQ(OpenVersion::open(opening("none")).error().code, Errc::kNotFound);
  Opening another = opening();
  another.reference.volume = "another";
  EXPECT_EQ(OpenVersion::open(another).error().code, Errc::kNotFound);
  another.reference.store = "nowhere";
  EXPECT_EQ(OpenVersion::open(another).error().code, Errc::kInvalid);
  EXPECT_EQ(stored_.objects("s").size(), 0U);
}

TEST_F(OpenVersionTest, AReferenceToAnotherVersionsManifestIsRefused) {
  stored_.write("file", "1");
  stored_.put();
  const auto first = MUST(OpenVersion::open(opening()));
  Opening wrong{.reference = first->reference(), .cache = {}};
  wrong.reference.version = "0123456789abcdef";
  EXPECT_EQ(OpenVersion::open(wrong).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace runnel::library
