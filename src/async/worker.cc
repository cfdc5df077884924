#include "async/worker.h"

#include <pthread.h>

#include <condition_variable>
#include <coroutine>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

#include "async/event.h"
#include "base/check.h"

namespace runnel::async {

struct Worker::Impl {
  // A call and who waits for it; lives in the waiting coroutine's frame.
  struct Job {
    std::function<void()> call;
    std::coroutine_handle<> waiting;
  };
  // Hands the job over and sleeps until it has run.
  struct Submission {
    Impl& worker;
    Job& job;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waiting) {
      job.waiting = waiting;
      worker.push(job);
    }
    void await_resume() const noexcept {}
  };

  Impl(EventLoop& owner, WorkerOptions chosen)
      : loop(owner), options(std::move(chosen)), ended(owner) {}

  void push(Job& job) {
    std::lock_guard lock(mutex);
    CHECK(!stopping, "a job after the worker's stop");
    jobs.push_back(&job);
    changed.notify_one();
  }

  // The next job, or null when stopping and drained.
  Job* pop() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return stopping || !jobs.empty(); });
    if (jobs.empty()) return nullptr;
    Job* job = jobs.front();
    jobs.pop_front();
    return job;
  }

  // The thread's body. An exception of a job ends the process here: it is noexcept.
  void serve() noexcept {
    pthread_setname_np(pthread_self(), options.name.c_str());
    while (Job* job = pop()) {
      job->call();
      loop.post([waiting = job->waiting] { waiting.resume(); });
    }
    loop.post([this] { ended.open(); });
  }

  EventLoop& loop;
  const WorkerOptions options;
  Latch ended;              // Loop only.
  std::thread thread;       // Loop only.
  std::size_t pending = 0;  // Loop only: submitted and not resumed yet.

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job*> jobs;  // Under mutex.
  bool stopping = false;  // Under mutex; written on the loop only.
};

Result<std::unique_ptr<Worker>> Worker::create(EventLoop& loop, WorkerOptions options) {
  CHECK(options.name.size() <= 15, "the kernel keeps 15 bytes of a thread's name");
  CHECK(options.queued_max > 0, "a worker needs a queue");
  auto impl = std::make_unique<Impl>(loop, std::move(options));
  try {
    impl->thread = std::thread(&Impl::serve, impl.get());
  } catch (const std::system_error& error) {
    return errno_error("cannot start thread " + impl->options.name, error.code().value())
        .with_hint("raise the limit of processes (ulimit -u)");
  }
  return std::unique_ptr<Worker>(new Worker(std::move(impl)));
}

Worker::Worker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Worker::~Worker() {
  CHECK(!impl_->thread.joinable(), "a worker was destroyed before its stop() was awaited");
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
  Impl::Job job{std::move(call), {}};
  co_await Impl::Submission{*impl_, job};
  --impl_->pending;
  co_return {};
}

Async<void> Worker::stop() {
  {
    std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
    impl_->changed.notify_one();
  }
  MUST(co_await impl_->ended.wait());
  if (impl_->thread.joinable()) impl_->thread.join();
  co_return {};
}

std::size_t Worker::queued() const { return impl_->pending; }

}  // namespace runnel::async
