#include "async/loop_thread.h"

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <system_error>

#include "base/check.h"

namespace runnel::async {
namespace {

// Signals that arrive meanwhile are for other threads than those that are started; but for those of
// a fault, which are the thread's own.
class SignalsOfOthers {
 public:
  SignalsOfOthers() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
      sigdelset(&all, fault);
    }
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsOfOthers() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsOfOthers(const SignalsOfOthers&) = delete;
  SignalsOfOthers& operator=(const SignalsOfOthers&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Result<std::unique_ptr<LoopThread>> LoopThread::start(const std::string& name, Work work) {
  CHECK(name.size() <= 15, "the kernel keeps 15 bytes of a thread's name");
  std::unique_ptr<EventLoop> loop = TRY(EventLoop::create());
  std::unique_ptr<LoopThread> made(new LoopThread(std::move(loop)));
  TRY(made->start_thread(name, std::move(work)));
  return made;
}

LoopThread::LoopThread(std::unique_ptr<EventLoop> loop) : loop_(std::move(loop)), calls_(*loop_) {}

Result<void> LoopThread::start_thread(const std::string& name, Work work) {
  const SignalsOfOthers signals;
  try {
    thread_ = std::thread([this, name, work = std::move(work)] { serve(name, work); });
  } catch (const std::system_error& error) {
    return errno_error("cannot start thread " + name, error.code().value())
        .with_hint("raise the limit of processes (ulimit -u)");
  }
  return {};
}

LoopThread::~LoopThread() {
  if (thread_.joinable()) thread_.join();
}

void LoopThread::serve(const std::string& name, const Work& work) noexcept {
  pthread_setname_np(pthread_self(), name.c_str());
  Result<void> result = loop_->block_on(run(work));
  const std::lock_guard lock(mutex_);
  result_.emplace(std::move(result));
  changed_.notify_all();
}

Async<void> LoopThread::run(const Work& work) {
  Result<void> result = co_await work(*loop_);
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  // What was posted before that runs first, and enters the gate.
  CO_TRY(co_await loop_->yield());
  CO_TRY(co_await calls_.close());
  co_return result;
}

bool LoopThread::begin(std::function<Async<void>()> call) {
  const std::lock_guard lock(mutex_);
  if (ended_) return false;
  loop_->post([this, call = std::move(call)] { MUST(loop_->spawn(calls_, call())); });
  return true;
}

bool LoopThread::has_ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

std::optional<Result<void>> LoopThread::wait_for_end(Duration limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(limit.millis()),
                    [this] { return result_.has_value(); });
  return result_;
}

}  // namespace runnel::async
