#include "async/detail/machine_thread.h"

#include <pthread.h>

#include <system_error>
#include <utility>

#include "base/check.h"

namespace runnel::async::detail {

Result<std::unique_ptr<Driver::Thread>> MachineThread::start(Driver& driver,
                                                             const std::string& name) {
  std::unique_ptr<MachineThread> made(new MachineThread(driver));
  try {
    made->thread_ = std::thread([self = made.get(), name] { self->serve(name); });
  } catch (const std::system_error& error) {
    return errno_error("cannot start thread " + name, error.code().value())
        .with_hint("raise the limit of processes (ulimit -u)");
  }
  return std::unique_ptr<Driver::Thread>(std::move(made));
}

MachineThread::~MachineThread() {
  if (!thread_.joinable()) return;
  CHECK(ending_, "a thread was destroyed that nobody ended");
  thread_.join();
}

void MachineThread::run(Driver::Action call, Driver::Action done) {
  const std::lock_guard lock(mutex_);
  CHECK(!ending_, "a call after the end of a thread");
  jobs_.push_back({std::move(call), std::move(done)});
  changed_.notify_one();
}

void MachineThread::end(Driver::Action ended) {
  const std::lock_guard lock(mutex_);
  CHECK(!ending_, "a thread is ended twice");
  ending_ = true;
  ended_ = std::move(ended);
  changed_.notify_one();
}

// False when it is ending and drained.
bool MachineThread::pop(Job& job) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
  if (jobs_.empty()) return false;
  job = std::move(jobs_.front());
  jobs_.pop_front();
  return true;
}

// An exception of a call ends the process here: it is noexcept.
void MachineThread::serve(const std::string& name) noexcept {
  pthread_setname_np(pthread_self(), name.c_str());
  for (Job job; pop(job);) {
    job.call();
    driver_.post(std::move(job.done));
  }
  driver_.post(std::move(ended_));
}

}  // namespace runnel::async::detail
