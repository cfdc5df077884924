#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "async/driver.h"
#include "base/agenda.h"
#include "base/units.h"

namespace runnel::async {

struct VirtualOptions {
  std::uint64_t seed = 0;  // Decides the order of timers that are due at one moment.
  // The time that a call on the thread takes; the default: none.
  std::function<Duration(std::string_view thread)> latency;
};

// A process of a simulation: a driver whose queue, timers and threads live on an agenda, in virtual
// time. The same seed and the same calls lead to the same run.
//
// Contract: what is posted runs at the moment it was posted, in one turn. A call on a thread has
//           its effect at its end: whoever is killed before has left nothing. freeze() holds all of
//           it back until thaw(), as SIGSTOP does. run_out() is the end of a process that was
//           killed: coroutines cannot be dropped, so what is left of it runs to its end at one
//           instant, without time. Calls that were in flight have their effect first, then `cut` is
//           called, and its owner sees to it that nothing that comes after leaves the process.
// Threads:  one for the whole simulation.
// Lifetime: the agenda outlives it. What it planned there is void after its destruction.
class VirtualProcess final : public Driver {
 public:
  VirtualProcess(Agenda& agenda, VirtualOptions options);
  ~VirtualProcess() override;

  void post(Action action) override;
  void resume(std::coroutine_handle<> waiting) override;
  std::unique_ptr<Timer> timer() override;
  Result<std::unique_ptr<Thread>> thread(const std::string& name) override;
  // Lets the agenda go on until stop(): for block_on().
  void run() override;
  void stop() override;
  bool on_thread() const override { return true; }

  void freeze();
  void thaw();
  // Until `done`; false when nothing is left to do before that.
  bool run_out(const std::function<void()>& cut, const std::function<bool()>& done);

 private:
  class State;
  class VirtualTimer;
  class VirtualThread;

  std::shared_ptr<State> state_;
};

}  // namespace runnel::async
