#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include "async/driver.h"
#include "async/event_loop.h"

namespace runnel::async::detail {

// The machine's driver: Asio's queue and timers, and threads of the system. Only the sources of
// this module include it.
class AsioDriver final : public Driver {
 public:
  struct Signal {
    explicit Signal(boost::asio::io_context& context) : set(context) {}
    boost::asio::signal_set set;
    std::function<void()> action;
  };

  ~AsioDriver() override;
  void post(Action action) override;
  void resume(std::coroutine_handle<> waiting) override;
  std::unique_ptr<Timer> timer() override;
  Result<std::unique_ptr<Thread>> thread(const std::string& name) override;
  void run() override;
  void stop() override;
  bool on_thread() const override;

  Result<void> on_signal(int signal_number, std::function<void()> action);
  boost::asio::io_context& context() { return context_; }

  // From the next run() on; costs each turn some tens of nanoseconds.
  void count_turns() { counts_turns_ = true; }
  // Any thread, as the next.
  std::uint64_t turns() const { return turns_.load(); }
  // The thread that was last in run(); 0: none was.
  pid_t thread_id() const { return thread_id_.load(); }

 private:
  // One thread runs the context: no locks inside, but posts from other threads stay safe.
  boost::asio::io_context context_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_{
      context_.get_executor()};
  std::atomic<std::thread::id> runner_;  // Default: nobody is in run().
  std::map<int, std::unique_ptr<Signal>> signals_;
  bool counts_turns_ = false;
  std::atomic<std::uint64_t> turns_ = 0;
  std::atomic<pid_t> thread_id_ = 0;
};

// That of a loop which watches descriptors and signals: a loop in virtual time has none.
AsioDriver& asio_driver(EventLoop& loop);

}  // namespace runnel::async::detail
