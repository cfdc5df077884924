#include "object/object_store.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "async/together.h"
#include "env/clock.h"
#include "env/process.h"
#include "env/random.h"
#include "env/testing/temporary_directory.h"
#include "object/local/local_store.h"
#include "object/memory/memory_store.h"
#include "object/probe.h"
#include "object/s3/s3_store.h"

namespace runnel::object {
namespace {

using ::testing::ElementsAre;

constexpr std::int64_t kAny = 1 << 20;

// A store of one kind on a loop, and how to end it.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual ObjectStore& store() = 0;
};

class MemoryBackend final : public Backend {
 public:
  explicit MemoryBackend(async::EventLoop& /*loop*/) {}
  ObjectStore& store() override { return store_; }

 private:
  MemoryStore store_;
};

class LocalBackend final : public Backend {
 public:
  explicit LocalBackend(async::EventLoop& loop)
      : loop_(loop), store_(MUST(LocalStore::open(loop, folder_.path()))) {}
  ~LocalBackend() override { MUST(loop_.block_on(store_->stop())); }
  ObjectStore& store() override { return *store_; }

 private:
  async::EventLoop& loop_;
  env::testing::TemporaryDirectory folder_;
  std::unique_ptr<LocalStore> store_;
};

// The bucket of $RUNNEL_TEST_STORE, with the keys of the AWS_* variables: each test has a prefix of
// its own.
class S3Backend final : public Backend {
 public:
  explicit S3Backend(async::EventLoop& loop)
      : loop_(loop),
        settings_(MUST(aws_settings(env::variable, "", ""))),
        client_(MUST(http::OutwardClient::create(loop))),
        keys_(MUST(CredentialKeeper::create(loop, env::real_clock(), settings_))) {
    StoreUrl url = MUST(parse_store_url(*env::variable("RUNNEL_TEST_STORE")));
    url.prefix += "test-" + env::random_hex(env::real_random(), 12);
    store_.emplace(*client_, *keys_, url, settings_);
  }
  ~S3Backend() override {
    MUST(loop_.block_on(client_->stop()));
    MUST(loop_.block_on(keys_->stop()));
  }
  ObjectStore& store() override { return *store_; }

 private:
  async::EventLoop& loop_;
  AwsSettings settings_;
  std::unique_ptr<http::OutwardClient> client_;
  std::unique_ptr<CredentialKeeper> keys_;
  std::optional<S3Store> store_;
};

struct Kind {
  const char* name;
  std::function<std::unique_ptr<Backend>(async::EventLoop&)> make;
};

class ObjectStoreTest : public ::testing::TestWithParam<Kind> {
 protected:
  template <typename T>
  Result<T> run(Async<T> work) {
    return loop_->block_on(std::move(work));
  }
  Result<std::string> put(const std::string& key, std::string bytes,
                          Condition condition = Condition::none()) {
    return run(store_.put(key, make_body(std::move(bytes)), std::move(condition), {}));
  }
  Result<Object> get(const std::string& key) { return run(store_.get(key, kAny, {})); }
  Result<void> read(const std::string& key, std::int64_t offset, std::span<char> into) {
    return run(store_.read(key, "", offset, into, {}));
  }
  std::vector<std::string> keys(const std::string& prefix, const std::string& after = {}) {
    std::vector<std::string> found;
    for (const Listed& each : MUST(run(store_.list(prefix, after, {}))).objects) {
      found.push_back(each.key);
    }
    return found;
  }

  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  std::unique_ptr<Backend> backend_ = GetParam().make(*loop_);
  ObjectStore& store_ = backend_->store();
};

TEST_P(ObjectStoreTest, GivesWhatWasPut) {
  const std::string bytes("a\0b\n\xff", 5);
  const std::string etag = MUST(put("a/b-1_.x", bytes));
  const Object object = MUST(get("a/b-1_.x"));
  EXPECT_EQ(object.bytes, bytes);
  EXPECT_EQ(object.etag, etag);
  EXPECT_EQ(get("a/b").error().code, Errc::kNotFound);
  EXPECT_EQ(get("a").error().code, Errc::kNotFound);
}

TEST_P(ObjectStoreTest, KeepsAnEmptyObject) {
  MUST(put("empty", ""));
  EXPECT_EQ(MUST(get("empty")).bytes, "");
}

TEST_P(ObjectStoreTest, RefusesWhatIsLargerThanWasAskedFor) {
  MUST(put("large", "12345"));
  EXPECT_EQ(run(store_.get("large", 4, {})).error().code, Errc::kInvalid);
  EXPECT_TRUE(run(store_.get("large", 5, {})).ok());
}

TEST_P(ObjectStoreTest, ReadsOnlyTheObjectOfAStamp) {
  MUST(put("stamped", "0123456789"));
  const auto listed = [&] { return MUST(run(store_.list("stamped", "", {}))).objects.at(0); };
  const std::string stamp = listed().stamp;
  EXPECT_FALSE(stamp.empty());
  std::string three(3, '?');
  MUST(run(store_.read("stamped", stamp, 4, three, {})));
  EXPECT_EQ(three, "456");
  MUST(put("stamped", "abcdefghij"));
  EXPECT_NE(listed().stamp, stamp);
  EXPECT_EQ(run(store_.read("stamped", stamp, 4, three, {})).error().code, Errc::kPrecondition);
  MUST(run(store_.read("stamped", listed().stamp, 4, three, {})));
  EXPECT_EQ(three, "efg");
}

TEST_P(ObjectStoreTest, ReadsARange) {
  MUST(put("range", "0123456789"));
  std::string three(3, '?');
  MUST(read("range", 4, three));
  EXPECT_EQ(three, "456");
  MUST(read("range", 7, three));
  EXPECT_EQ(three, "789");
  EXPECT_EQ(read("range", 8, three).error().code, Errc::kCorrupt);
  EXPECT_EQ(read("range", 20, three).error().code, Errc::kCorrupt);
  EXPECT_EQ(read("other", 0, three).error().code, Errc::kNotFound);
}

TEST_P(ObjectStoreTest, PutsOnlyWhereNothingIs) {
  MUST(put("once", "1", Condition::absent()));
  const Result<std::string> again = put("once", "2", Condition::absent());
  EXPECT_EQ(again.error().code, Errc::kPrecondition);
  EXPECT_NE(again.error().message.find("once"), std::string::npos) << again.error().message;
  EXPECT_EQ(MUST(get("once")).bytes, "1");
}

TEST_P(ObjectStoreTest, SwapsOnlyWhatIsMatched) {
  EXPECT_EQ(put("head", "0", Condition::matches("\"x\"")).error().code, Errc::kNotFound);
  const std::string first = MUST(put("head", "1"));
  const std::string second = MUST(put("head", "2", Condition::matches(first)));
  EXPECT_NE(first, second);
  EXPECT_EQ(put("head", "3", Condition::matches(first)).error().code, Errc::kPrecondition);
  EXPECT_EQ(MUST(get("head")).bytes, "2");
}

TEST_P(ObjectStoreTest, OneOfManySwapsWins) {
  std::string etag = MUST(put("head", "0"));
  for (int round = 0; round < 10; ++round) {
    std::vector<Async<std::string>> swaps;
    int won = 0;
    for (int writer = 0; writer < 8; ++writer) {
      const std::string bytes = std::to_string(round) + "/" + std::to_string(writer);
      swaps.push_back(store_.put("head", make_body(bytes), Condition::matches(etag), {}));
    }
    async::Gate gate(*loop_);
    const auto counted = [](Async<std::string> swap, int& wins,
                            std::string& winner) -> Async<void> {
      const Result<std::string> swapped = co_await std::move(swap);
      if (swapped.ok()) {
        ++wins;
        winner = *swapped;
      }
      co_return {};
    };
    std::string winner;
    for (auto& swap : swaps) MUST(loop_->spawn(gate, counted(std::move(swap), won, winner)));
    MUST(loop_->block_on(loop_->sleep(Duration::millis(1))));
    while (gate.inside() > 0) MUST(loop_->block_on(loop_->sleep(Duration::millis(1))));
    MUST(loop_->block_on(gate.close()));
    EXPECT_EQ(won, 1) << "round " << round;
    etag = winner;
  }
}

// Room for a thread or two more than are there.
class LittleRoom {
 public:
  LittleRoom() {
    ::getrlimit(RLIMIT_AS, &before_);
    std::ifstream status("/proc/self/statm");
    rlim_t pages = 0;
    status >> pages;
    rlimit little = before_;
    little.rlim_cur = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + (24U << 20U);
    ::setrlimit(RLIMIT_AS, &little);
  }
  ~LittleRoom() { ::setrlimit(RLIMIT_AS, &before_); }
  LittleRoom(const LittleRoom&) = delete;
  LittleRoom& operator=(const LittleRoom&) = delete;

 private:
  rlimit before_{};
};

// It serves other mounts, and a Python process has more to do than to read a volume.
TEST(LocalStore, AMachineWithoutThreadsToSpareHasFewer) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the sanitizer takes all of the address space";
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizer takes all of the address space";
#endif
#endif
  const env::testing::TemporaryDirectory folder;
  const std::unique_ptr<async::EventLoop> loop = MUST(async::EventLoop::create());
  for (int stores = 0; stores < 4; ++stores) {
    Result<std::unique_ptr<LocalStore>> opened = [&] {
      const LittleRoom room;
      return stores % 2 == 0 ? LocalStore::open(*loop, folder.path())
                             : loop->block_on(LocalStore::open_beside(*loop, folder.path()));
    }();
    if (!opened.ok()) continue;  // Not even one.
    LocalStore& store = **opened;
    MUST(loop->block_on(store.put("one", make_body("1"), Condition::none(), {})));
    EXPECT_EQ(MUST(loop->block_on(store.get("one", kAny, {}))).bytes, "1");
    MUST(loop->block_on(store.stop()));
  }
}

Async<void> get_one(ObjectStore& store) {
  CO_TRY(co_await store.get("one", kAny, {}));
  co_return {};
}

// As do those of a bucket in the window of RetryStore.
TEST(LocalStore, ManyCallsAtOnceWaitForTheirTurn) {
  const std::unique_ptr<async::EventLoop> loop = MUST(async::EventLoop::create());
  LocalBackend backend(*loop);
  MUST(loop->block_on(backend.store().put("one", make_body("1"), Condition::none(), {})));
  std::vector<Async<void>> gets;
  for (int number = 0; number < 2'000; ++number) gets.push_back(get_one(backend.store()));
  MUST(loop->block_on(async::when_all(*loop, std::move(gets))));
}

TEST_P(ObjectStoreTest, RemovesAndForgives) {
  MUST(put("gone", "1"));
  MUST(run(store_.remove("gone", {})));
  MUST(run(store_.remove("gone", {})));
  MUST(run(store_.remove("never/there", {})));
  EXPECT_EQ(get("gone").error().code, Errc::kNotFound);
}

TEST_P(ObjectStoreTest, ListsInByteOrder) {
  for (const char* key : {"v/b/1", "v/a", "v/a-b", "v/a.b", "v/b/0", "w", "v/B", "v/a0"}) {
    MUST(put(key, "12"));
  }
  EXPECT_THAT(keys("v/"), ElementsAre("v/B", "v/a", "v/a-b", "v/a.b", "v/a0", "v/b/0", "v/b/1"));
  EXPECT_THAT(keys("v/b"), ElementsAre("v/b/0", "v/b/1"));
  EXPECT_THAT(keys("v/", "v/a.b"), ElementsAre("v/a0", "v/b/0", "v/b/1"));
  EXPECT_THAT(keys("", "v/b/0"), ElementsAre("v/b/1", "w"));
  EXPECT_THAT(keys("x"), ElementsAre());
  EXPECT_EQ(MUST(run(store_.list("w", "", {}))).objects.at(0).size, 2);
}

TEST_P(ObjectStoreTest, ListsPageByPage) {
  const int count = static_cast<int>(kListPageMax) + 5;
  for (int number = 0; number < count; ++number) {
    MUST(put("many/" + std::to_string(10'000 + number), ""));
  }
  const ListPage first = MUST(run(store_.list("many/", "", {})));
  ASSERT_EQ(first.objects.size(), kListPageMax);
  ASSERT_TRUE(first.more.has_value());
  const ListPage rest = MUST(run(store_.list("many/", *first.more, {})));
  EXPECT_EQ(rest.objects.size(), 5U);
  EXPECT_FALSE(rest.more.has_value());
}

TEST_P(ObjectStoreTest, RefusesKeysThatNotEveryStoreTakes) {
  for (const char* key : {"", "/a", "a/", "a//b", "a/../b", ".", "a b", "a\nb", ".runnel/x"}) {
    EXPECT_EQ(put(key, "1").error().code, Errc::kInvalid) << key;
    EXPECT_EQ(get(key).error().code, Errc::kInvalid) << key;
    EXPECT_EQ(run(store_.remove(key, {})).error().code, Errc::kInvalid) << key;
    std::string into(1, '\0');
    EXPECT_EQ(read(key, 0, into).error().code, Errc::kInvalid) << key;
  }
  EXPECT_EQ(put(std::string(901, 'a'), "1").error().code, Errc::kInvalid);
}

TEST_P(ObjectStoreTest, KeepsThePromisesOfAVolume) {
  MUST(run(probe_conditions(store_, "probe-1", {})));
  EXPECT_THAT(keys(""), ElementsAre());
}

template <typename T>
Kind kind(const char* name) {
  return {name, [](async::EventLoop& loop) -> std::unique_ptr<Backend> {
            return std::make_unique<T>(loop);
          }};
}

std::vector<Kind> kinds() {
  std::vector<Kind> all = {kind<MemoryBackend>("memory"), kind<LocalBackend>("local")};
  if (env::variable("RUNNEL_TEST_STORE")) all.push_back(kind<S3Backend>("s3"));
  return all;
}

INSTANTIATE_TEST_SUITE_P(Backends, ObjectStoreTest, ::testing::ValuesIn(kinds()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace runnel::object
