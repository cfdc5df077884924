// Generated operations against small models: whatever the order of waits, wake-ups and stops,
// nothing is lost, doubled or overtaken.

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "async/gate.h"
#include "async/stop_token.h"
#include "async/testing/loop_test.h"

namespace runnel::async {
namespace {

constexpr int kSeeds = 20;

using Random = std::mt19937;

int pick(Random& random, int count) {
  return static_cast<int>(random() % static_cast<std::uint32_t>(count));
}

class ModelTest : public testing::EitherLoopTest {};

// --- Notifier: a queue of waiters ----------------------------------------------------------------

enum class Fate : std::uint8_t { kWaiting, kNotified, kStopped };

Async<void> wait_for_fate(Notifier& notifier, Fate& fate, StopToken token) {
  Result<void> woken = co_await notifier.wait(std::move(token));
  fate = woken.ok() ? Fate::kNotified : Fate::kStopped;
  co_return {};
}

struct NotifierModel {
  explicit NotifierModel(EventLoop& loop) : notifier(loop), gate(loop) {}

  void add_waiter(EventLoop& loop) {
    seen.push_back(std::make_unique<Fate>(Fate::kWaiting));
    expected.push_back(Fate::kWaiting);
    stops.push_back(std::make_unique<StopSource>());
    queue.push_back(seen.size() - 1);
    MUST(loop.spawn(gate, wait_for_fate(notifier, *seen.back(), stops.back()->token())));
  }
  void notify_one() {
    notifier.notify_one();
    if (queue.empty()) return;
    expected[queue.front()] = Fate::kNotified;
    queue.pop_front();
  }
  void notify_all() {
    notifier.notify_all();
    for (std::size_t waiter : queue) expected[waiter] = Fate::kNotified;
    queue.clear();
  }
  void stop(std::size_t waiter) {
    stops[waiter]->stop();
    if (expected[waiter] != Fate::kWaiting) return;
    expected[waiter] = Fate::kStopped;
    std::erase(queue, waiter);
  }
  void step(EventLoop& loop, Random& random) {
    int choice = pick(random, 10);
    if (choice < 5) add_waiter(loop);
    if (choice == 5 || choice == 6) notify_one();
    if (choice == 7) notify_all();
    if (choice >= 8 && !stops.empty()) stop(random() % stops.size());
  }
  std::vector<Fate> fates() const {
    std::vector<Fate> all;
    for (const auto& fate : seen) all.push_back(*fate);
    return all;
  }

  Notifier notifier;
  Gate gate;
  std::vector<std::unique_ptr<Fate>> seen;
  std::vector<Fate> expected;
  std::vector<std::unique_ptr<StopSource>> stops;
  std::deque<std::size_t> queue;  // The waiters, oldest first.
};

// The model knows a waiter as soon as it was spawned, so each step lets it begin to wait.
Async<void> drive_notifier(EventLoop& loop, NotifierModel& model, Random& random) {
  for (int i = 0; i < 200; ++i) {
    model.step(loop, random);
    Result<void> turned = co_await loop.sleep(Duration());
    CO_TRY(std::move(turned));
    EXPECT_EQ(model.fates(), model.expected) << "step " << i;
  }
  model.notify_all();
  co_return {};
}

TEST_P(ModelTest, ANotifierIsAQueueOfWaiters) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    NotifierModel model(loop());
    MUST(wait(drive_notifier(loop(), model, random)));
    MUST(wait(model.gate.close()));
    EXPECT_EQ(model.fates(), model.expected);
    if (HasFailure()) return;
  }
}

// --- Stop sources: a tree ------------------------------------------------------------------------

TEST(StopModel, ATreeOfSourcesStopsDownwardsOnly) {
  for (std::uint32_t seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    std::vector<std::unique_ptr<StopSource>> sources;
    std::vector<std::size_t> parents;  // Its own index for a root.
    std::vector<bool> expected;
    for (int step = 0; step < 200; ++step) {
      if (sources.empty() || pick(random, 4) != 0) {
        bool root = sources.empty() || pick(random, 5) == 0;
        std::size_t parent = root ? sources.size() : random() % sources.size();
        sources.push_back(root ? std::make_unique<StopSource>()
                               : std::make_unique<StopSource>(sources[parent]->token()));
        parents.push_back(parent);
        expected.push_back(!root && expected[parent]);
      } else {
        std::size_t stopped = random() % sources.size();
        sources[stopped]->stop();
        expected[stopped] = true;
        // Parents come before their children, so one pass is enough.
        for (std::size_t i = 0; i < parents.size(); ++i) {
          if (expected[parents[i]]) expected[i] = true;
        }
      }
      for (std::size_t i = 0; i < sources.size(); ++i) {
        ASSERT_EQ(sources[i]->stopped(), expected[i]) << "seed " << seed << " step " << step;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(, ModelTest, testing::on_both_grounds(), testing::ground_name);

// --- Timers: in the order of their times ---------------------------------------------------------

constexpr Duration kDelayStep = Duration::millis(5);

class TimerModelTest : public testing::LoopTest {
 protected:
  struct Run {
    std::vector<int> ran;
    std::vector<int> expected;
    Duration starting;  // From the first timer's start to the last one's.
  };
  Run run(Random random);
};

// Within one delay the start order decides, since each timer is started later than the one before.
TimerModelTest::Run TimerModelTest::run(Random random) {
  std::vector<std::unique_ptr<Timer>> timers;
  std::vector<std::pair<int, int>> started;  // Delay, index.
  Run run;
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 30; ++i) {
    int delay = static_cast<int>(kDelayStep.millis()) * (1 + pick(random, 6));
    timers.push_back(std::make_unique<Timer>(loop()));
    timers.back()->start(Duration::millis(delay), [&run, i] { run.ran.push_back(i); });
    if (pick(random, 3) == 0) {
      timers.back()->cancel();
    } else {
      started.emplace_back(delay, i);
    }
  }
  run.starting = Duration::millis(std::chrono::duration_cast<std::chrono::milliseconds>(
                                      std::chrono::steady_clock::now() - begun)
                                      .count());
  MUST(wait(loop().sleep(Duration::millis(60))));
  std::sort(started.begin(), started.end());
  for (const auto& [delay, index] : started) run.expected.push_back(index);
  return run;
}

TEST_F(TimerModelTest, TimersRunInTheOrderOfTheirTimesAndOnlyIfNotCancelled) {
  for (std::uint32_t seed = 0; seed < 5; ++seed) {
    Run run;
    // A process that is held up for a step between two starts has its timers due in another order.
    do run = this->run(Random(seed));
    while (run.starting >= kDelayStep);
    EXPECT_EQ(run.ran, run.expected) << "seed " << seed;
  }
}

}  // namespace
}  // namespace runnel::async
