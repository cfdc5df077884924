#include "async/turn_watch.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "async/unique_fd.h"

namespace runnel::async {
namespace {

class TurnWatchTest : public ::testing::Test {
 protected:
  // On a machine whose host takes nothing: what it takes of this one would be no turn's.
  void begin(Duration turn_max, TurnWatch::Stolen stolen = [] { return std::int64_t{0}; }) {
    const auto keep = [this](Duration stood, const std::string& where) {
      const std::scoped_lock lock(mutex_);
      told_.push_back(stood);
      where_ = where;
    };
    watch_ = MUST(TurnWatch::start(*loop_, turn_max, keep, std::move(stolen)));
  }
  std::vector<Duration> told() {
    watch_.reset();
    return told_;
  }
  bool was_told() {
    const std::scoped_lock lock(mutex_);
    return !told_.empty();
  }
  void pass(Duration time) { MUST(loop_->block_on(loop_->sleep(time))); }
  // In one turn of the loop.
  void do_in_a_turn(std::function<void()> work) {
    loop_->post(std::move(work));
    pass(Duration::millis(30));
  }
  void stand(Duration time) {
    do_in_a_turn([time] { std::this_thread::sleep_for(std::chrono::milliseconds(time.millis())); });
  }
  // A watch that gets no processor itself takes a turn for shorter than it is: turns get longer
  // until one is told of.
  void until_told(Duration first, const std::function<void(Duration)>& turn) {
    for (int doubled = 0; doubled < 6 && !was_told(); ++doubled) {
      turn(first * (std::int64_t{1} << doubled));
      for (int look = 0; look < 100 && !was_told(); ++look) pass(Duration::millis(10));
    }
  }

  std::unique_ptr<EventLoop> loop_ = MUST(EventLoop::create());
  std::unique_ptr<TurnWatch> watch_;
  std::mutex mutex_;
  std::vector<Duration> told_;
  std::string where_;
};

TEST_F(TurnWatchTest, ACallThatBlocksIsToldOfOnce) {
  begin(Duration::millis(400));
  pass(Duration::millis(30));
  Duration longest;
  until_told(Duration::millis(600), [&](Duration time) {
    const auto begun = std::chrono::steady_clock::now();
    stand(time);
    const auto took = std::chrono::steady_clock::now() - begun;
    longest = Duration::millis(std::chrono::ceil<std::chrono::milliseconds>(took).count());
  });
  const std::vector<Duration> all = told();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_GT(all[0], Duration::millis(400));
  EXPECT_LE(all[0], longest);
  EXPECT_NE(where_.find("sleep"), std::string::npos) << where_;
}

TEST_F(TurnWatchTest, ATurnThatComputesIsToldOf) {
  begin(Duration::millis(100));
  pass(Duration::millis(30));
  until_told(Duration::millis(1'000), [this](Duration time) {
    do_in_a_turn([time] {
      const auto until =
          std::chrono::steady_clock::now() + std::chrono::milliseconds(time.millis());
      while (std::chrono::steady_clock::now() < until) {
      }
    });
  });
  EXPECT_EQ(told().size(), 1U);
}

// The second is so long that no machine misses it.
TEST_F(TurnWatchTest, EachOfTwoTurnsIsToldOf) {
  begin(Duration::millis(100));
  pass(Duration::millis(30));
  until_told(Duration::millis(300), [this](Duration time) { stand(time); });
  stand(Duration::millis(3'000));
  EXPECT_EQ(told().size(), 2U);
}

// What /proc/stat says in its eighth number, in steps of a hundredth of a second.
TEST_F(TurnWatchTest, WhatTheHostTakesIsReadFromTheKernel) {
  const auto taken = [] {
    std::ifstream file("/proc/stat");
    std::string word;
    std::int64_t steps = 0;
    file >> word;
    for (int column = 0; column < 8; ++column) file >> steps;
    return steps * 10'000'000;
  };
  const std::int64_t before = taken();
  const std::int64_t now = TurnWatch::stolen_in_all();
  EXPECT_GE(now, before);
  EXPECT_LE(now, taken());
}

// As the turn may do while a ping is on its way.
TEST_F(TurnWatchTest, AProcessThatIsStoppedStandsNowhere) {
  const pid_t stopped = ::fork();
  if (stopped == 0) {
    bool was_told = false;
    const auto loop = MUST(EventLoop::create());
    const auto watch = MUST(TurnWatch::start(
        *loop, Duration::millis(400), [&](Duration, const std::string&) { was_told = true; }));
    loop->post([] {
      ::raise(SIGSTOP);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    });
    (void)loop->block_on(loop->sleep(Duration::millis(50)));
    ::_exit(was_told ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(stopped, &status, WUNTRACED), stopped);
  ASSERT_TRUE(WIFSTOPPED(status));
  std::this_thread::sleep_for(std::chrono::milliseconds(1'000));
  ::kill(stopped, SIGCONT);
  ASSERT_EQ(::waitpid(stopped, &status, 0), stopped);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(TurnWatchTest, WhatTheHostGaveToOthersIsNoTurns) {
  std::int64_t stolen = 0;
  begin(Duration::millis(100), [&stolen] { return stolen += 10'000'000'000; });
  pass(Duration::millis(30));
  stand(Duration::millis(400));
  EXPECT_TRUE(told().empty());
  EXPECT_GT(stolen, 10'000'000'000) << "it was looked at before and after";
}

// A page of memory that is not there until somebody puts it there.
class LatePage {
 public:
  static std::unique_ptr<LatePage> make() {
    UniqueFd faults(static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC)));
    uffdio_api api = {.api = UFFD_API};
    if (!faults.valid() || ::ioctl(faults.get(), UFFDIO_API, &api) != 0) return nullptr;
    auto page = std::unique_ptr<LatePage>(new LatePage(std::move(faults)));
    uffdio_register of_page = {.range = page->range(), .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (::ioctl(page->faults_.get(), UFFDIO_REGISTER, &of_page) != 0) return nullptr;
    return page;
  }
  ~LatePage() { ::munmap(memory_, kSize); }
  LatePage(const LatePage&) = delete;
  LatePage& operator=(const LatePage&) = delete;

  int read() const { return *static_cast<volatile const int*>(memory_); }
  void put() const {
    uffdio_zeropage zeros = {.range = range()};
    (void)::ioctl(faults_.get(), UFFDIO_ZEROPAGE, &zeros);
  }

 private:
  static constexpr std::size_t kSize = 4096;
  explicit LatePage(UniqueFd faults) : faults_(std::move(faults)) {}
  uffdio_range range() const { return {reinterpret_cast<std::uintptr_t>(memory_), kSize}; }

  UniqueFd faults_;
  void* memory_ =
      ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
};

TEST_F(TurnWatchTest, WaitingForAPageOfTheProgramIsNoTurns) {
  const std::unique_ptr<LatePage> page = LatePage::make();
  if (page == nullptr) GTEST_SKIP() << "this user may not hold back pages";
  begin(Duration::millis(100));
  pass(Duration::millis(30));
  std::thread puts([&page] {
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    page->put();
  });
  loop_->post([&page] { EXPECT_EQ(page->read(), 0); });
  pass(Duration::millis(30));
  puts.join();
  EXPECT_TRUE(told().empty());
}

void run_on_the_first_processor(int policy) {
  cpu_set_t first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  (void)::sched_setaffinity(0, sizeof first, &first);
  const sched_param none = {};
  (void)::sched_setscheduler(0, policy, &none);
}

std::chrono::nanoseconds computed() {
  timespec time = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

void compute(std::chrono::nanoseconds time) {
  while (computed() < time) {
  }
}

TEST_F(TurnWatchTest, WaitingForAThreadThatHasNoProcessorIsNoTurns) {
  begin(Duration::millis(150));
  pass(Duration::millis(30));
  std::mutex mutex;
  std::atomic<bool> is_locked = false;
  std::atomic<bool> is_alone = true;
  std::thread holds([&] {
    run_on_the_first_processor(SCHED_IDLE);
    const std::scoped_lock lock(mutex);
    is_locked = true;
    while (is_alone) std::this_thread::yield();
    compute(computed() + std::chrono::milliseconds(20));
  });
  while (!is_locked) std::this_thread::yield();
  std::thread is_in_its_way([&] {
    run_on_the_first_processor(SCHED_OTHER);
    is_alone = false;
    compute(std::chrono::milliseconds(600));
  });
  loop_->post([&mutex] { const std::scoped_lock lock(mutex); });
  pass(Duration::millis(30));
  holds.join();
  is_in_its_way.join();
  EXPECT_TRUE(told().empty());
}

TEST_F(TurnWatchTest, ALoopThatNobodyRunsIsNotLate) {
  begin(Duration::millis(50));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_TRUE(told().empty());
}

TEST_F(TurnWatchTest, ItEndsWhileATurnStands) {
  begin(Duration::millis(50));
  std::thread runs([this] {
    loop_->post([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      loop_->stop();
    });
    loop_->run();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(told().empty()) << "nobody waits for the turn's end";
  runs.join();
}

TEST_F(TurnWatchTest, ALoopThatRestsOrIsBusyStandsNowhere) {
  begin(Duration::millis(200));
  pass(Duration::millis(300));
  for (int turn = 0; turn < 40; ++turn) {
    loop_->post([] { std::this_thread::sleep_for(std::chrono::milliseconds(10)); });
  }
  pass(Duration::millis(30));
  EXPECT_TRUE(told().empty());
}

}  // namespace
}  // namespace runnel::async
