#include "async/worker.h"

#include <coroutine>
#include <utility>

#include "async/event.h"
#include "base/check.h"

namespace runnel::async {

struct Worker::Impl {
  // A call and who waits for it; lives in the waiting coroutine's frame.
  struct Submission {
    Impl& worker;
    std::function<void()>& call;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
      worker.thread->run(std::move(call), [waiting] { waiting.resume(); });
    }
    void await_resume() const noexcept {}
  };

  Impl(EventLoop& owner, WorkerOptions chosen)
      : loop(owner), options(std::move(chosen)), ended(owner) {}

  EventLoop& loop;
  const WorkerOptions options;
  Latch ended;
  std::unique_ptr<Driver::Thread> thread;
  std::size_t pending = 0;  // Submitted and not resumed yet.
  bool stopping = false;
};

Result<std::unique_ptr<Worker>> Worker::create(EventLoop& loop, WorkerOptions options) {
  CHECK(options.name.size() <= 15, "the kernel keeps 15 bytes of a thread's name");
  CHECK(options.queued_max > 0, "a worker needs a queue");
  auto impl = std::make_unique<Impl>(loop, std::move(options));
  impl->thread = TRY(loop.driver().thread(impl->options.name));
  return std::unique_ptr<Worker>(new Worker(std::move(impl)));
}

Worker::Worker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Worker::~Worker() {
  CHECK(impl_->ended.is_open(), "a worker was destroyed before its stop() was awaited");
}

Async<void> Worker::submit(std::function<void()> call) {
  CHECK(impl_->loop.on_loop_thread(), "Worker::run from another thread than its loop's");
  if (impl_->stopping) co_return cancelled_error();
  if (impl_->pending >= impl_->options.queued_max) {
    co_return Error(Errc::kFull, "the queue of " + impl_->options.name + " is full")
        .with_value(std::to_string(impl_->pending))
        .with_hint("try again in a moment");
  }
  ++impl_->pending;
  co_await Impl::Submission{*impl_, call};
  --impl_->pending;
  co_return {};
}

Async<void> Worker::stop() {
  if (!std::exchange(impl_->stopping, true)) {
    impl_->thread->end([impl = impl_.get()] { impl->ended.open(); });
  }
  MUST(co_await impl_->ended.wait());
  co_return {};
}

std::size_t Worker::queued() const { return impl_->pending; }

}  // namespace runnel::async
