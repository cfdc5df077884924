#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>

#include "async/event_loop.h"

namespace runnel::async {

// The Asio side of the loop; only the sources of this module include it.
struct EventLoop::Impl {
  struct Signal {
    explicit Signal(boost::asio::io_context& context) : set(context) {}
    boost::asio::signal_set set;
    std::function<void()> action;
  };

  // One thread runs the context: no locks inside, but posts from other threads stay safe.
  boost::asio::io_context context{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work{
      context.get_executor()};
  std::atomic<std::thread::id> runner;  // Default: nobody is in run().
  std::function<void(const Error&)> error_sink;
  std::map<int, std::unique_ptr<Signal>> signals;

  // Unlike EventLoop::post this takes what can only be moved.
  template <typename Action>
  void post(Action&& action) {
    boost::asio::post(context, std::forward<Action>(action));
  }
};

}  // namespace runnel::async
