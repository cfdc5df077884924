#include "object/retry_store.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "async/gate.h"
#include "async/together.h"
#include "base/split_mix.h"
#include "env/clock.h"
#include "env/random.h"
#include "object/faulty_store.h"
#include "object/memory/memory_store.h"

namespace runnel::object {
namespace {

// Answers the next requests with errors, after or before their effect.
class ScriptedStore final : public ForwardingStore {
 public:
  struct Answer {
    std::optional<Error> error;
    bool has_effect = false;
  };
  using ForwardingStore::ForwardingStore;

  Async<Object> get(std::string key, std::int64_t limit, async::StopToken stop) override {
    ++requests;
    if (slow_for > Duration()) CO_TRY(co_await loop->sleep(slow_for, stop));
    if (key == silent_key) {
      if (silent_for > Duration()) CO_TRY(co_await loop->sleep(silent_for, stop));
      co_return Error(Errc::kTimeout, "silent");
    }
    const Answer answer = next();
    if (answer.error) co_return *answer.error;
    co_return co_await inner().get(std::move(key), limit, std::move(stop));
  }
  Async<std::string> put(std::string key, Body bytes, Condition condition,
                         async::StopToken stop) override {
    ++requests;
    if (refuses_puts) co_return Error(Errc::kUnavailable, "not now");
    const Answer answer = next();
    if (answer.error && !answer.has_effect) co_return *answer.error;
    Result<std::string> put = co_await inner().put(std::move(key), std::move(bytes),
                                                   std::move(condition), std::move(stop));
    if (after_next_put) std::exchange(after_next_put, {})();
    if (answer.error) co_return *answer.error;
    co_return put;
  }

  std::deque<Answer> script;
  int requests = 0;
  bool refuses_puts = false;
  std::function<void()> after_next_put;
  std::string silent_key;
  async::EventLoop* loop = nullptr;  // For these:
  Duration silent_for;
  Duration slow_for;

 private:
  Answer next() {
    if (script.empty()) return {};
    Answer answer = script.front();
    script.pop_front();
    return answer;
  }
};

// Goes on at each look, as if the machine were slow.
class SlowMachinesClock final : public env::Clock {
 public:
  Time wall() const override { return env::real_clock().wall(); }
  Duration boot() const override { return now_ = now_ + Duration::millis(20); }

 private:
  mutable Duration now_;
};

class SeededRandom final : public env::Random {
 public:
  std::uint64_t next() override { return numbers_.next(); }

 private:
  SplitMix64 numbers_{7};
};

class RetryStoreTest : public ::testing::Test {
 protected:
  static RetryOptions quick() {
    RetryOptions options;
    options.tries = 4;
    options.first_pause = Duration::millis(1);
    options.pause_max = Duration::millis(4);
    return options;
  }
  Result<std::string> put(const std::string& bytes, Condition condition) {
    return loop_->block_on(store_.put("key", make_body(bytes), std::move(condition), {}));
  }
  Result<Object> get() { return loop_->block_on(store_.get("key", 1 << 22, {})); }
  void answer(Errc code, bool has_effect = false, int times = 1) {
    for (int i = 0; i < times; ++i)
      scripted_.script.push_back({Error(code, "scripted"), has_effect});
  }

  Async<void> read_once(RetryStore& store) {
    const Result<Object> got = co_await store.get("key", 1, {});
    read_ += got.ok() ? 1 : 0;
    co_return {};
  }
  Async<void> read_for(RetryStore& store, Duration time) {
    const Duration until = env::real_clock().boot() + time;
    while (env::real_clock().boot() < until) {
      const Result<Object> got = co_await store.get("good", 1, {});
      read_ += got.ok() ? 1 : 0;
      CO_TRY(co_await loop_->sleep(Duration::millis(1)));
    }
    co_return {};
  }

  int read_ = 0;  // With success.
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  SeededRandom random_;
  MemoryStore memory_;
  ScriptedStore scripted_{memory_};
  RetryStore store_{*loop_, env::real_clock(), random_, scripted_, quick()};
};

TEST_F(RetryStoreTest, RepeatsWhatMayBeMended) {
  MUST(put("1", Condition::none()));
  for (const Errc code : {Errc::kUnavailable, Errc::kTimeout, Errc::kFull}) {
    answer(code);
    EXPECT_EQ(MUST(get()).bytes, "1");
  }
  EXPECT_EQ(store_.retries(), 3);
}

TEST_F(RetryStoreTest, HandsOnWhatNoRetryMends) {
  answer(Errc::kDenied);
  EXPECT_EQ(get().error().code, Errc::kDenied);
  EXPECT_EQ(get().error().code, Errc::kNotFound);
  EXPECT_EQ(scripted_.requests, 2);
}

TEST_F(RetryStoreTest, GivesUpAfterItsTries) {
  answer(Errc::kUnavailable, false, 10);
  EXPECT_EQ(get().error().code, Errc::kUnavailable);
  EXPECT_EQ(scripted_.requests, 4);
}

TEST_F(RetryStoreTest, WaitsForAStoreThatHasAnswered) {
  MUST(put("1", Condition::none()));
  answer(Errc::kUnavailable, false, 30);
  EXPECT_EQ(MUST(get()).bytes, "1");
  EXPECT_EQ(scripted_.requests, 32);
}

TEST_F(RetryStoreTest, WaitsNotForEver) {
  RetryOptions options = quick();
  options.deadline = Duration::millis(50);
  RetryStore store(*loop_, env::real_clock(), random_, scripted_, options);
  MUST(loop_->block_on(store.put("key", make_body("1"), Condition::none(), {})));
  answer(Errc::kUnavailable, false, 1'000);
  EXPECT_EQ(loop_->block_on(store.get("key", 1, {})).error().code, Errc::kUnavailable);
  EXPECT_LT(scripted_.requests, 900);
}

TEST_F(RetryStoreTest, FailsOthersAtOnceRightAfterItHasGivenUp) {
  RetryOptions options = quick();
  options.deadline = Duration::millis(50);
  options.rest = Duration::seconds(2);
  RetryStore store(*loop_, env::real_clock(), random_, scripted_, options);
  const auto get = [&] { return loop_->block_on(store.get("key", 1, {})); };
  MUST(loop_->block_on(store.put("key", make_body("1"), Condition::none(), {})));
  answer(Errc::kTimeout, false, 1'000);
  EXPECT_EQ(get().error().code, Errc::kTimeout);
  const int requests = scripted_.requests;
  EXPECT_EQ(get().error().code, Errc::kUnavailable);
  EXPECT_EQ(scripted_.requests, requests)
      << "a kernel's second read of a page waits no second time";
  scripted_.script.clear();
  MUST(loop_->block_on(loop_->sleep(options.rest)));
  EXPECT_EQ(MUST(get()).bytes, "1");
}

TEST_F(RetryStoreTest, TakesItsOwnPutForDone) {
  answer(Errc::kUnavailable, true);
  const std::string etag = MUST(put("mine", Condition::absent()));
  EXPECT_EQ(MUST(get()).etag, etag);
}

TEST_F(RetryStoreTest, TakesItsOwnLargePutForDone) {
  const std::string large(3 << 20, 'x');
  answer(Errc::kTimeout, true);
  MUST(put(large, Condition::absent()));
  answer(Errc::kTimeout);
  EXPECT_EQ(put(large + "y", Condition::absent()).error().code, Errc::kPrecondition)
      << "another's of the same beginning";
}

TEST_F(RetryStoreTest, TakesNoOthersPutForItsOwn) {
  MUST(put("another's", Condition::none()));
  EXPECT_EQ(put("mine", Condition::absent()).error().code, Errc::kPrecondition);
  answer(Errc::kUnavailable);
  EXPECT_EQ(put("mine", Condition::absent()).error().code, Errc::kPrecondition);
  EXPECT_EQ(MUST(get()).bytes, "another's");
}

TEST_F(RetryStoreTest, SettlesASwapByWhatIsThere) {
  std::string etag = MUST(put("1", Condition::none()));
  answer(Errc::kUnavailable, true);
  etag = MUST(put("2", Condition::matches(etag)));
  EXPECT_EQ(etag, MUST(get()).etag) << "it was done";
  answer(Errc::kTimeout);
  etag = MUST(put("3", Condition::matches(etag)));
  EXPECT_EQ(MUST(get()).bytes, "3") << "it was not, and was repeated";
  answer(Errc::kConflict);  // Another was under way: this one was not done.
  etag = MUST(put("4", Condition::matches(etag)));
  scripted_.after_next_put = [this] {
    (void)memory_.objects().insert_or_assign("key", Object{"another's", "\"e\""});
  };
  answer(Errc::kUnavailable, true);
  EXPECT_EQ(put("5", Condition::matches(etag)).error().code, Errc::kUnavailable)
      << "what came of it only who knows the bytes can tell";
}

// By a connection that ended without an answer, whose request was sent anew below.
TEST_F(RetryStoreTest, ARequestThatWasRepeatedBelowIsNoOtherWriters) {
  std::string etag = MUST(put("1", Condition::none()));
  answer(Errc::kPrecondition, true);
  etag = MUST(put("2", Condition::matches(etag)));
  EXPECT_EQ(etag, MUST(get()).etag);
  (void)memory_.objects().erase("key");
  answer(Errc::kPrecondition, true);
  EXPECT_EQ(MUST(put("3", Condition::absent())), MUST(get()).etag);
}

TEST_F(RetryStoreTest, ASwapThatIsNeverTakenIsGivenUp) {
  RetryOptions options = quick();
  options.deadline = Duration::millis(50);
  RetryStore store(*loop_, env::real_clock(), random_, scripted_, options);
  const std::string etag =
      MUST(loop_->block_on(store.put("key", make_body("1"), Condition::none(), {})));
  scripted_.refuses_puts = true;
  EXPECT_EQ(
      loop_->block_on(store.put("key", make_body("2"), Condition::matches(etag), {})).error().code,
      Errc::kUnavailable);
  EXPECT_LT(scripted_.requests, 200) << "with pauses between";
  EXPECT_EQ(MUST(loop_->block_on(store.get("key", 1, {}))).bytes, "1") << "it answers others";
}

TEST_F(RetryStoreTest, AnObjectThatHasNoAnswerIsNoFaultOfOthers) {
  RetryOptions options = quick();
  options.deadline = Duration::millis(50);
  options.rest = Duration::seconds(10);
  RetryStore store(*loop_, env::real_clock(), random_, scripted_, options);
  MUST(loop_->block_on(store.put("good", make_body("1"), Condition::none(), {})));
  scripted_.silent_key = "bad";
  async::Gate gate(*loop_);
  MUST(loop_->spawn(gate, read_for(store, Duration::millis(100))));
  EXPECT_EQ(loop_->block_on(store.get("bad", 1, {})).error().code, Errc::kTimeout);
  EXPECT_EQ(MUST(loop_->block_on(store.get("good", 1, {}))).bytes, "1");
  MUST(loop_->block_on(gate.close()));
  EXPECT_GT(read_, 0);
}

TEST_F(RetryStoreTest, TimeThatEndsInAPauseLeavesTheErrorOfTheLastTry) {
  SlowMachinesClock clock;
  RetryOptions options = quick();
  options.deadline = Duration::millis(50);
  RetryStore store(*loop_, clock, random_, scripted_, options);
  MUST(loop_->block_on(store.put("key", make_body("1"), Condition::none(), {})));
  answer(Errc::kUnavailable, false, 10);
  EXPECT_EQ(loop_->block_on(store.get("key", 1, {})).error().code, Errc::kUnavailable);
  EXPECT_EQ(store.retries(), 1) << "it was to be tried again";
}

// What waits for its turn behind others that are not answered is not tried after its time.
TEST_F(RetryStoreTest, NoTryBeginsAfterTheDeadline) {
  RetryOptions options = quick();
  options.deadline = Duration::millis(100);
  options.under_way_max = 1;
  RetryStore store(*loop_, env::real_clock(), random_, scripted_, options);
  MUST(loop_->block_on(store.put("key", make_body("1"), Condition::none(), {})));
  scripted_.silent_key = "key";
  scripted_.silent_for = Duration::millis(50);
  scripted_.loop = loop_.get();
  std::vector<Async<void>> all;
  for (int number = 0; number < 10; ++number) all.push_back(read_once(store));
  MUST(loop_->block_on(async::when_all(*loop_, std::move(all))));
  EXPECT_LE(scripted_.requests, 5);
}

// Those that wait behind a long queue have their whole time when the store answers.
TEST_F(RetryStoreTest, WaitingForOthersTakesNoTimeOfARequest) {
  RetryOptions options = quick();
  options.deadline = Duration::millis(100);
  options.under_way_max = 1;
  RetryStore store(*loop_, env::real_clock(), random_, scripted_, options);
  MUST(loop_->block_on(store.put("key", make_body("1"), Condition::none(), {})));
  scripted_.slow_for = Duration::millis(40);
  scripted_.loop = loop_.get();
  std::vector<Async<void>> all;
  for (int number = 0; number < 10; ++number) all.push_back(read_once(store));
  MUST(loop_->block_on(async::when_all(*loop_, std::move(all))));
  EXPECT_EQ(read_, 10);
}

TEST_F(RetryStoreTest, StopsWaiting) {
  answer(Errc::kUnavailable, false, 10);
  async::StopSource source;
  source.stop();
  EXPECT_EQ(loop_->block_on(store_.get("key", 1, source.token())).error().code, Errc::kCancelled);
}

TEST_F(RetryStoreTest, HalvesItsWindowWhenTheStoreIsCongested) {
  MUST(put("1", Condition::none()));
  EXPECT_EQ(store_.window(), 32);
  answer(Errc::kFull, false, 2);
  MUST(get());
  EXPECT_EQ(store_.window(), 8);
  for (int i = 0; i < 12; ++i) MUST(get());
  EXPECT_EQ(store_.window(), 9) << "one more for so many successes";
}

// Whatever the network does, a put that is done is there, and one that is refused is not.
TEST(RetryOverFaults, EndsWithWhatWasPut) {
  const std::unique_ptr<async::EventLoop> loop = MUST(async::EventLoop::create());
  SeededRandom random;
  MemoryStore memory;
  StoreFaults faults{.lost_before = 80,
                     .lost_after = 80,
                     .late = 20,
                     .doubled = 50,
                     .congested = 50,
                     .contended = 50,
                     .flipped = 0,
                     .latency_max = {},
                     .late_max = Duration::millis(3)};
  FaultyStore faulty(*loop, memory, faults, 5);
  RetryOptions options;
  options.tries = 30;
  options.first_pause = options.pause_max = Duration::millis(1);
  RetryStore store(*loop, env::real_clock(), random, faulty, options);
  for (int number = 0; number < 400; ++number) {
    const std::string key = "object-" + std::to_string(number);
    MUST(loop->block_on(store.put(key, make_body(key), Condition::absent(), {})));
    EXPECT_EQ(MUST(loop->block_on(store.get(key, 100, {}))).bytes, key);
  }
  EXPECT_GT(store.retries(), 50);
  MUST(loop->block_on(faulty.stop()));
  EXPECT_EQ(memory.objects().size(), 400U);
}

}  // namespace
}  // namespace runnel::object
