#include "async/worker.h"

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "async/gate.h"
#include "async/testing/loop_test.h"

namespace runnel::async {
namespace {

class WorkerTest : public testing::LoopTest {
 protected:
  void make(std::size_t queued_max = 64) {
    worker_ = MUST(Worker::create(loop(), {.name = "test-worker", .queued_max = queued_max}));
  }
  void TearDown() override {
    if (worker_ != nullptr) ASSERT_TRUE(wait(worker_->stop()).ok());
  }

  std::unique_ptr<Worker> worker_;
};

TEST_F(WorkerTest, RunsOnItsOwnNamedThreadAndReturnsValuesAndErrors) {
  make();
  std::thread::id here = std::this_thread::get_id();
  EXPECT_NE(wait(worker_->run([] { return std::this_thread::get_id(); })).value(), here);
  std::string name = wait(worker_->run([] {
                       char text[16];
                       pthread_getname_np(pthread_self(), text, sizeof(text));
                       return std::string(text);
                     })).value();
  EXPECT_EQ(name, "test-worker");
  Result<int> failed = wait(worker_->run([]() -> Result<int> { return Error(Errc::kIo, "disk"); }));
  EXPECT_EQ(failed.error(), Error(Errc::kIo, "disk"));
  bool called = false;
  EXPECT_TRUE(wait(worker_->run([&called] { called = true; })).ok());
  EXPECT_TRUE(called);
  EXPECT_TRUE(wait(worker_->run([]() -> Result<void> { return {}; })).ok());
}

Async<void> append(Worker& worker, EventLoop& loop, std::vector<int>& order, int value) {
  Result<int> done = co_await worker.run([value] { return value; });
  CHECK(loop.on_loop_thread(), "resumed on the worker's thread");
  order.push_back(CO_TRY(std::move(done)));
  co_return {};
}

TEST_F(WorkerTest, KeepsTheOrderAndResumesOnTheLoop) {
  make();
  Gate gate(loop());
  std::vector<int> order;
  std::vector<int> expected;
  for (int i = 0; i < 50; ++i) {
    expected.push_back(i);
    ASSERT_TRUE(loop().spawn(gate, append(*worker_, loop(), order, i)).ok());
  }
  ASSERT_TRUE(wait(gate.close()).ok());
  EXPECT_EQ(order, expected);
}

Async<void> blocked(Worker& worker, std::shared_future<void> release, int& ended) {
  Result<void> done = co_await worker.run([release] { release.wait(); });
  ++ended;
  co_return done;
}

TEST_F(WorkerTest, RefusesMoreThanItsQueueHolds) {
  make(2);
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  Gate gate(loop());
  int ended = 0;
  ASSERT_TRUE(loop().spawn(gate, blocked(*worker_, released, ended)).ok());
  ASSERT_TRUE(loop().spawn(gate, blocked(*worker_, released, ended)).ok());
  settle();
  EXPECT_EQ(worker_->queued(), 2u);
  Result<int> refused = wait(worker_->run([] { return 1; }));
  EXPECT_EQ(refused.error().code, Errc::kFull);
  EXPECT_EQ(refused.error().message, "the queue of test-worker is full");
  release.set_value();
  ASSERT_TRUE(wait(gate.close()).ok());
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(wait(worker_->run([] { return 1; })).value(), 1);
}

TEST_F(WorkerTest, StopRunsWhatIsQueuedAndRefusesTheRest) {
  make();
  std::promise<void> release;
  std::shared_future<void> released = release.get_future().share();
  Gate gate(loop());
  int ended = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(loop().spawn(gate, blocked(*worker_, released, ended)).ok());
  }
  settle();
  std::thread releaser([&release] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    release.set_value();
  });
  ASSERT_TRUE(wait(worker_->stop()).ok());
  releaser.join();
  ASSERT_TRUE(wait(gate.close()).ok());
  EXPECT_EQ(ended, 3);
  EXPECT_EQ(wait(worker_->run([] { return 1; })).error().code, Errc::kCancelled);
  EXPECT_TRUE(wait(worker_->stop()).ok()) << "stop() may be called again";
}

TEST_F(WorkerTest, DestroyingARunningOneEndsTheProcess) {
  EXPECT_DEATH(
      {
        make();
        worker_.reset();
      },
      "before its stop");
}

Async<void> add_on(Worker& worker, std::int64_t& sum, std::int64_t value) {
  // `sum` belongs to the worker's thread: only functions that run there touch it.
  Result<void> done = co_await worker.run([&sum, value] { sum += value; });
  co_return done;
}

TEST_F(WorkerTest, TwoWorkersServeManyCallersWithoutLocksOfTheirs) {
  make(4096);
  std::unique_ptr<Worker> other = MUST(Worker::create(loop(), {.name = "other"}));
  std::int64_t first = 0;
  std::int64_t second = 0;
  Gate gate(loop());
  for (int i = 1; i <= 1000; ++i) {
    MUST(loop().spawn(gate, add_on(*worker_, first, i)));
    MUST(loop().spawn(gate, add_on(*other, second, 2 * i)));
  }
  MUST(wait(gate.close()));
  MUST(wait(other->stop()));
  EXPECT_EQ(wait(worker_->run([&first] { return first; })).value(), 500'500);
  EXPECT_EQ(second, 1'001'000);
}

TEST_F(WorkerTest, ANameTooLongForTheKernelEndsTheProcess) {
  EXPECT_DEATH({ (void)Worker::create(loop(), {.name = "sixteen-bytes-xx"}); }, "15 bytes");
}

}  // namespace
}  // namespace runnel::async
