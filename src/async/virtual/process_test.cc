#include "async/virtual/process.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/worker.h"

namespace runnel::async {
namespace {

constexpr Time kStart = Time::from_millis(1'000);

// A process on an agenda, as a simulation has it.
class VirtualProcessTest : public ::testing::Test {
 protected:
  void make(std::uint64_t seed = 1) {
    auto process = std::make_unique<VirtualProcess>(
        agenda_, VirtualOptions{seed, [](std::string_view thread) {
                                  return Duration::millis(thread == "slow" ? 50 : 5);
                                }});
    process_ = process.get();
    loop_.emplace(std::move(process));
  }
  void until(std::int64_t millis) {
    bool there = false;
    agenda_.at(kStart + Duration::millis(millis), [&there] { there = true; }, ~0ULL);
    while (!there) agenda_.step();
  }
  std::int64_t now() const { return (agenda_.now() - kStart).millis(); }

  Agenda agenda_{kStart};
  VirtualProcess* process_ = nullptr;
  std::optional<EventLoop> loop_;
};

Async<void> note_after(EventLoop& loop, std::string& log, std::string name, Duration length) {
  Result<void> slept = co_await loop.sleep(length);
  log += name;
  co_return slept;
}

TEST_F(VirtualProcessTest, TimeIsTheAgendas) {
  make();
  MUST(loop_->block_on(loop_->sleep(Duration::hours(100))));
  EXPECT_EQ(now(), Duration::hours(100).millis());
}

std::string order_of(std::uint64_t seed) {
  Agenda agenda(kStart);
  EventLoop loop(std::make_unique<VirtualProcess>(agenda, VirtualOptions{seed, {}}));
  Gate gate(loop);
  std::string log;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    MUST(loop.spawn(gate, note_after(loop, log, name, Duration::millis(7))));
  }
  MUST(loop.block_on(gate.close()));
  return log;
}

TEST_F(VirtualProcessTest, TimersThatAreDueTogetherRunInTheOrderOfTheSeed) {
  std::vector<std::string> orders;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    orders.push_back(order_of(seed));
    EXPECT_EQ(order_of(seed), orders.back());
  }
  std::sort(orders.begin(), orders.end());
  EXPECT_GT(std::unique(orders.begin(), orders.end()) - orders.begin(), 3);
}

Async<void> note_moment(Worker& worker, const Agenda& agenda, std::vector<std::int64_t>& at) {
  Result<void> done =
      co_await worker.run([&agenda, &at] { at.push_back((agenda.now() - kStart).millis()); });
  co_return done;
}

TEST_F(VirtualProcessTest, ACallHasItsEffectAtItsEnd) {
  make();
  std::unique_ptr<Worker> worker = MUST(Worker::create(*loop_, {.name = "slow"}));
  Gate gate(*loop_);
  std::vector<std::int64_t> at;
  for (int i = 0; i < 2; ++i) MUST(loop_->spawn(gate, note_moment(*worker, agenda_, at)));
  until(49);
  EXPECT_TRUE(at.empty());
  MUST(loop_->block_on(gate.close()));
  MUST(loop_->block_on(worker->stop()));
  EXPECT_EQ(at, (std::vector<std::int64_t>{50, 100}));
}

TEST_F(VirtualProcessTest, WhatIsFrozenGoesOnWhenItThaws) {
  make();
  Gate gate(*loop_);
  std::string log;
  MUST(loop_->spawn(gate, note_after(*loop_, log, "a", Duration::millis(10))));
  MUST(loop_->spawn(gate, note_after(*loop_, log, "b", Duration::millis(30))));
  until(5);
  process_->freeze();
  loop_->post([&log] { log += "posted"; });
  until(20);
  EXPECT_EQ(log, "");
  process_->thaw();
  EXPECT_EQ(log, "posteda");
  until(30);
  EXPECT_EQ(log, "postedab");
  MUST(loop_->block_on(gate.close()));
}

// A service with a worker and a loop that sleeps, as the log writer is.
Async<void> serve(EventLoop& loop, Worker& worker, int& written, StopToken stop) {
  while (true) {
    Result<void> done = co_await worker.run([&written] { ++written; });
    CO_TRY(std::move(done));
    Result<void> slept = co_await loop.sleep(Duration::millis(20), stop);
    CO_TRY(std::move(slept));
  }
}

Async<void> end(Gate& gate, Worker& worker, bool& ended) {
  Result<void> left = co_await gate.close();
  CO_TRY(std::move(left));
  Result<void> stopped = co_await worker.stop();
  ended = true;
  co_return stopped;
}

// A call of 5 ms begins at 0, 25, ...: those that have begun by then.
int written_by(int millis) { return millis / 25 + 1; }

TEST_F(VirtualProcessTest, WhatWasKilledRunsOutAtOneInstant) {
  for (const int killed_at : {0, 3, 5, 12, 27}) {
    Agenda agenda(kStart);
    auto process = std::make_unique<VirtualProcess>(
        agenda, VirtualOptions{7, [](std::string_view) { return Duration::millis(5); }});
    VirtualProcess& killed = *process;
    EventLoop loop(std::move(process));
    int written = 0;
    std::unique_ptr<Worker> worker = MUST(Worker::create(loop, {.name = "disk"}));
    Gate gate(loop);
    Gate ending(loop);
    MUST(loop.spawn(gate, serve(loop, *worker, written, gate.token())));
    bool there = false;
    agenda.at(kStart + Duration::millis(killed_at), [&there] { there = true; });
    while (!there) agenda.step();
    bool ended = false;
    MUST(loop.spawn(ending, end(gate, *worker, ended)));
    int at_the_cut = -1;
    EXPECT_TRUE(killed.run_out([&] { at_the_cut = written; },
                               [&] { return ended && ending.inside() == 0; }))
        << killed_at;
    EXPECT_EQ(at_the_cut, written_by(killed_at)) << "what was in flight, and no more";
    EXPECT_EQ((agenda.now() - kStart).millis(), killed_at) << "no time has passed";
  }
}

TEST_F(VirtualProcessTest, WhatBeatsForEverKeepsNothingFromItsEnd) {
  make();
  Timer beat(*loop_);
  const std::function<void()> again = [&] { beat.start(Duration::millis(5), again); };
  again();
  Timer end(*loop_);
  bool ended = false;
  end.start(Duration::millis(50), [&] { ended = true; });
  EXPECT_TRUE(process_->run_out([] {}, [&] { return ended; }));
}

TEST_F(VirtualProcessTest, WhatNeverEndsIsToldSo) {
  make();
  Notifier never(*loop_);
  Gate gate(*loop_);
  StopSource source;
  MUST(loop_->spawn(gate, never.wait(source.token())));
  const auto cut = [] {};
  EXPECT_FALSE(process_->run_out(cut, [&] { return gate.inside() == 0; }));
  source.stop();
  EXPECT_TRUE(process_->run_out(cut, [&] { return gate.inside() == 0; }));
}

}  // namespace
}  // namespace runnel::async
