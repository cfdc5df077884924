#include "async/abandonable_call.h"

#include <pthread.h>

#include <ctime>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"

namespace runnel::async {

struct AbandonableCall::Shared {
  std::mutex mutex;
  EventLoop* loop = nullptr;       // Under mutex; null: nobody wants to hear of it.
  std::optional<clockid_t> clock;  // Under mutex; the thread's, while its function runs.
  std::function<void()> done;      // The loop's.
};

namespace {

std::optional<clockid_t> clock_of_this_thread() {
  clockid_t clock{};
  if (::pthread_getcpuclockid(::pthread_self(), &clock) != 0) return std::nullopt;
  return clock;
}

}  // namespace

Result<AbandonableCall> AbandonableCall::start(EventLoop& loop, const std::string& name,
                                               std::function<void()> function,
                                               std::function<void()> done) {
  CHECK(name.size() <= 15, "the kernel keeps 15 bytes of a thread's name");
  auto shared = std::make_shared<Shared>();
  shared->loop = &loop;
  shared->done = std::move(done);
  const auto body = [shared, name, function = std::move(function)]() noexcept {
    pthread_setname_np(pthread_self(), name.c_str());
    {
      const std::lock_guard lock(shared->mutex);
      shared->clock = clock_of_this_thread();
    }
    function();
    const std::lock_guard lock(shared->mutex);
    shared->clock.reset();
    if (shared->loop == nullptr) return;
    shared->loop->post([shared] {
      // It may have been destroyed while this waited for its turn.
      if (shared->done) std::exchange(shared->done, nullptr)();
    });
  };
  try {
    // tidy: allow(detach) it owns all that it touches, and one that hangs cannot be joined
    std::thread(body).detach();
  } catch (const std::system_error& error) {
    return errno_error("cannot start thread " + name, error.code().value())
        .with_hint("raise the limit of processes (ulimit -u)");
  }
  return AbandonableCall(std::move(shared));
}

std::int64_t AbandonableCall::processor_nanos() const {
  const std::lock_guard lock(shared_->mutex);
  timespec used{};
  if (!shared_->clock || ::clock_gettime(*shared_->clock, &used) != 0) return 0;
  return std::int64_t{used.tv_sec} * 1'000'000'000 + used.tv_nsec;
}

AbandonableCall::~AbandonableCall() {
  if (shared_ == nullptr) return;
  shared_->done = nullptr;
  const std::lock_guard lock(shared_->mutex);
  shared_->loop = nullptr;
}

}  // namespace runnel::async
