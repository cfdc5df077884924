#pragma once

#include <coroutine>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace runnel::async {

// What an event loop stands on: a queue of work, timers, and threads that may block. In production
// these are Asio's and the machine's; a simulator has its own in virtual time.
//
// Contract: what is posted or resumed runs on the loop, one after another, in that order, inside
//           run() alone. Of timers that are due at one moment the order is not promised.
// Threads:  post() and stop() from any; the rest on the thread in run(), or before run().
// Lifetime: outlives its timers and threads, and is not in run() at its destruction.
class Driver {
 public:
  using Action = std::function<void()>;

  // One action at a later time. After cancel(), start() or destruction the earlier action never
  // runs; the action may destroy or restart its timer.
  class Timer {
   public:
    virtual ~Timer() = default;
    virtual void start(Duration delay, Action action) = 0;
    virtual void cancel() = 0;
    virtual bool active() const = 0;
  };

  // A thread that runs calls one after another, however long each blocks.
  class Thread {
   public:
    // After end() and its `ended` only.
    virtual ~Thread() = default;
    // `done` runs on the loop after `call` has run on the thread; `call` must not throw.
    virtual void run(Action call, Action done) = 0;
    // Ends the thread after what was given to it before; nothing may be given after.
    virtual void end(Action ended) = 0;
  };

  virtual ~Driver() = default;
  virtual void post(Action action) = 0;
  virtual void resume(std::coroutine_handle<> waiting) = 0;
  virtual std::unique_ptr<Timer> timer() = 0;
  // `name` is shown by ps and debuggers; at most 15 bytes. kUnavailable when the machine has no
  // thread left.
  virtual Result<std::unique_ptr<Thread>> thread(const std::string& name) = 0;
  // Returns after stop(), also after one that came first; it may be called again.
  virtual void run() = 0;
  virtual void stop() = 0;
  // Also true while nobody is in run().
  virtual bool on_thread() const = 0;
};

}  // namespace runnel::async
