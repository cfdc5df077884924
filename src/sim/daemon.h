#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/virtual/process.h"
#include "base/agenda.h"
#include "base/error.h"
#include "control/controller.h"
#include "env/clock.h"

namespace runnel::sim {

// One life of the home daemon: the shipped controller on a process in virtual time, from its start
// to its kill.
//
// Contract: `opened` is called once it answers, `died` when it cannot go on: both in a turn of the
//           process. After kill() nothing that it does is heard of; what it had begun ran to its
//           end on an unplugged disk.
// Lifetime: killed before destruction, and not from its own turns.
class Daemon {
 public:
  struct Options {
    std::uint64_t seed = 0;
    // What a call on a thread takes.
    std::function<Duration(std::string_view thread)> latency;
    control::LogOpener opener;
    control::ControllerOptions controller;
    std::function<void()> opened;
    std::function<void(const Error&)> died;
  };

  Daemon(Agenda& agenda, env::Clock& clock, control::Secrets& secrets, Options options);
  ~Daemon();
  Daemon(const Daemon&) = delete;
  Daemon& operator=(const Daemon&) = delete;

  bool is_open() const { return controller_ != nullptr; }
  control::Controller& controller() { return *controller_; }
  const control::Controller& controller() const { return *controller_; }
  async::EventLoop& loop() { return loop_; }
  bool is_dead() const { return is_dead_; }
  async::StopToken token() const { return gate_.token(); }

  // At its next turn: nothing is heard by a process that is stopped.
  void post(std::function<void()> what);
  // Begins the work and hands on what became of it, unless the daemon died meanwhile.
  template <typename T>
  void ask(Async<T> work, std::function<void(Result<T>)> heard) {
    Result<void> begun = loop_.spawn(gate_, hand_on(std::move(work), std::move(heard)));
    (void)begun;  // It is dying.
  }

  void freeze() { process_->freeze(); }
  void thaw() { process_->thaw(); }
  // kill -9. Calls that are in flight reach the disk before `cut` is called.
  void kill(const std::function<void()>& cut);

 private:
  template <typename T>
  Async<void> hand_on(Async<T> work, std::function<void(Result<T>)> heard) {
    Result<T> answer = co_await std::move(work);
    if (!is_dead_) heard(std::move(answer));
    co_return {};
  }
  Async<void> open();
  Async<void> end();

  Options options_;
  env::Clock& clock_;
  control::Secrets& secrets_;
  async::VirtualProcess* process_;  // The loop's.
  async::EventLoop loop_;
  async::Gate gate_;
  async::Gate ending_;
  std::unique_ptr<control::Controller> controller_;
  bool is_dead_ = false;
  bool has_ended_ = false;
};

}  // namespace runnel::sim
