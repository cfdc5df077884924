#include "async/turn_watch.h"

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "async/detail/asio_driver.h"
#include "env/files.h"

namespace runnel::async {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::chrono::milliseconds kLookEvery(5);
// More turns than these in the time that one answer took: the loop was busy, and stood nowhere.
constexpr std::uint64_t kTurnsOfAStand = 4;

// The beginning of a file that the kernel has of the thread; empty where there is none.
std::string told_of(pid_t thread, const char* name) {
  const std::string path = "/proc/self/task/" + std::to_string(thread) + "/" + name;
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return "";
  std::array<char, 64> bytes{};
  const std::size_t size = std::fread(bytes.data(), 1, bytes.size(), file);
  std::fclose(file);
  return std::string(bytes.data(), size);
}

// Nanoseconds that the thread was ready and had no processor; where the kernel does not count them,
// none are told of.
std::optional<std::int64_t> waited_for_processor(pid_t thread) {
  const std::string times = told_of(thread, "schedstat");  // "RAN WAITED TURNS"
  const std::size_t space = times.find(' ');
  if (space == std::string::npos) return std::nullopt;
  std::int64_t nanos = 0;
  const auto read = std::from_chars(times.data() + space + 1, times.data() + times.size(), nanos);
  return read.ec == std::errc() ? std::optional(nanos) : std::nullopt;
}

// The same of the other threads of the process, without the caller.
using Waits = std::map<pid_t, std::int64_t>;
Waits waits_of_others(pid_t loop) {
  Waits waits;
  for (const std::string& name : env::list_directory("/proc/self/task").value_or({})) {
    pid_t thread = 0;
    std::from_chars(name.data(), name.data() + name.size(), thread);
    if (thread == loop || thread == ::gettid()) continue;
    if (const auto waited = waited_for_processor(thread)) waits[thread] = *waited;
  }
  return waits;
}

// What they have waited since; nothing where one has ended, of which nobody can tell.
std::optional<std::int64_t> waited_since(const Waits& before, pid_t loop) {
  const Waits now = waits_of_others(loop);
  std::int64_t all = 0;
  for (const auto& [thread, waited] : before) {
    const auto found = now.find(thread);
    if (found == now.end()) return std::nullopt;
    all += found->second - waited;
  }
  return all;
}

// Whether it waits for a page of the program: it sleeps, and in no call.
bool is_paging(pid_t thread) { return told_of(thread, "syscall").starts_with("-1"); }

}  // namespace

struct TurnWatch::Look {
  Look(detail::AsioDriver& of, Duration max, OnLongTurn tell, Stolen steals)
      : driver(of), turn_max(max), on_long_turn(std::move(tell)), stolen(std::move(steals)) {}

  void run(const std::shared_ptr<Look>& self) {
    pthread_setname_np(pthread_self(), "loop-watch");
    std::unique_lock lock(mutex);
    while (!ended) {
      lock.unlock();
      look(self);
      lock.lock();
      changed.wait_for(lock, kLookEvery, [this] { return ended; });
    }
  }

  // Asks the loop for an answer. What makes it late besides the loop itself only makes the time
  // that is told of shorter: the loop is asked before, the processor's queue looked at after, and
  // of each nap no more counts than it was to take, since a process that is stopped sleeps on, and
  // none at whose end the loop waits for code or memory that the kernel had given away. A thread
  // that it waits for, as one that has the process's map of memory locked, may wait itself.
  void look(const std::shared_ptr<Look>& self) {
    const std::uint64_t turns = driver.turns();
    const auto before = waited_for_processor(driver.thread_id());
    driver.post([self] { self->answer(); });
    const SteadyTime asked_at = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex);
    std::chrono::nanoseconds awake{0};
    std::optional<std::int64_t> stolen_before;
    Waits others_before;
    std::string where;
    for (SteadyTime nap = asked_at; !ended && !answered_at;) {
      changed.wait_for(lock, kLookEvery);
      const SteadyTime now = std::chrono::steady_clock::now();
      const std::chrono::nanoseconds slept = now - std::exchange(nap, now);
      if (!answered_at && is_paging(driver.thread_id())) continue;
      awake += std::min<std::chrono::nanoseconds>(slept, 2 * kLookEvery);
      if (!answered_at && !stolen_before) {
        stolen_before = stolen();
        others_before = waits_of_others(driver.thread_id());
      }
      const bool is_long = awake > std::chrono::milliseconds(turn_max.millis());
      if (!answered_at && is_long && where.empty()) where = told_of(driver.thread_id(), "wchan");
    }
    if (!answered_at) return;
    const SteadyTime answered = *std::exchange(answered_at, std::nullopt);
    lock.unlock();
    const auto after = waited_for_processor(driver.thread_id());
    const bool was_busy = driver.turns() - turns > kTurnsOfAStand;
    if (!before || !after || was_busy) return;
    const auto others = waited_since(others_before, driver.thread_id());
    if (!others) return;
    const std::int64_t was_stolen = stolen_before ? stolen() - *stolen_before : 0;
    const std::int64_t taken = *after - *before + was_stolen + *others;
    const std::chrono::nanoseconds late = (answered - asked_at) - std::chrono::nanoseconds(taken);
    const std::chrono::nanoseconds stood = std::min(late, awake);
    const Duration length =
        Duration::millis(std::chrono::duration_cast<std::chrono::milliseconds>(stood).count());
    if (length > turn_max) on_long_turn(length, where);
  }

  // On the loop.
  void answer() {
    const std::scoped_lock lock(mutex);
    answered_at = std::chrono::steady_clock::now();
    changed.notify_all();
  }

  detail::AsioDriver& driver;
  const Duration turn_max;
  const OnLongTurn on_long_turn;
  const Stolen stolen;
  std::mutex mutex;
  std::condition_variable changed;
  bool ended = false;                     // Under mutex,
  std::optional<SteadyTime> answered_at;  // as this.
  std::thread thread;
};

// In steps of 10 ms; 0 where the kernel does not count them.
std::int64_t TurnWatch::stolen_in_all() {
  constexpr std::int64_t kNanos = 1'000'000'000;
  std::FILE* file = std::fopen("/proc/stat", "re");
  if (file == nullptr) return 0;
  long long stolen = 0;
  const int read = std::fscanf(file, "cpu %*d %*d %*d %*d %*d %*d %*d %lld", &stolen);
  std::fclose(file);
  return read == 1 ? stolen * (kNanos / ::sysconf(_SC_CLK_TCK)) : 0;
}

TurnWatch::TurnWatch(std::shared_ptr<Look> look) : look_(std::move(look)) {}

TurnWatch::~TurnWatch() {
  {
    const std::scoped_lock lock(look_->mutex);
    look_->ended = true;
    look_->changed.notify_all();
  }
  look_->thread.join();
}

Result<std::unique_ptr<TurnWatch>> TurnWatch::start(EventLoop& loop, Duration turn_max,
                                                    OnLongTurn on_long_turn, Stolen stolen) {
  detail::AsioDriver& driver = detail::asio_driver(loop);
  driver.count_turns();
  auto look = std::make_shared<Look>(driver, turn_max, std::move(on_long_turn), std::move(stolen));
  try {
    look->thread = std::thread([look] { look->run(look); });
  } catch (const std::system_error& error) {
    return errno_error("start a thread", error.code().value());
  }
  return std::unique_ptr<TurnWatch>(new TurnWatch(std::move(look)));
}

}  // namespace runnel::async
