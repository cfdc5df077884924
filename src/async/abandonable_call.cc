#include "async/abandonable_call.h"

#include <pthread.h>

#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/check.h"

namespace runnel::async {

struct AbandonableCall::Shared {
  std::mutex mutex;
  EventLoop* loop = nullptr;   // Under mutex; null: nobody wants to hear of it.
  std::function<void()> done;  // The loop's.
};

Result<AbandonableCall> AbandonableCall::start(EventLoop& loop, const std::string& name,
                                               std::function<void()> function,
                                               std::function<void()> done) {
  CHECK(name.size() <= 15, "the kernel keeps 15 bytes of a thread's name");
  auto shared = std::make_shared<Shared>();
  shared->loop = &loop;
  shared->done = std::move(done);
  const auto body = [shared, name, function = std::move(function)]() noexcept {
    pthread_setname_np(pthread_self(), name.c_str());
    function();
    const std::lock_guard lock(shared->mutex);
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

AbandonableCall::~AbandonableCall() {
  if (shared_ == nullptr) return;
  shared_->done = nullptr;
  const std::lock_guard lock(shared_->mutex);
  shared_->loop = nullptr;
}

}  // namespace runnel::async
