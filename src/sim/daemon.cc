#include "sim/daemon.h"

#include "base/check.h"

namespace runnel::sim {

Daemon::Daemon(Agenda& agenda, env::Clock& clock, control::Secrets& secrets, Options options)
    : options_(std::move(options)),
      clock_(clock),
      secrets_(secrets),
      process_(new async::VirtualProcess(agenda, {options_.seed, options_.latency})),
      loop_(std::unique_ptr<async::Driver>(process_)),
      gate_(loop_),
      ending_(loop_) {
  loop_.on_detached_error([](const Error&) {});  // Those that wait hear of a full disk.
  MUST(loop_.spawn(gate_, open()));
}

Daemon::~Daemon() { CHECK(has_ended_, "a daemon is destroyed that still runs"); }

Async<void> Daemon::open() {
  control::ControllerOptions options = options_.controller;
  options.on_dead = [this](const Error& error) {
    if (!is_dead_) options_.died(error);
  };
  Result<std::unique_ptr<control::Controller>> opened = co_await control::Controller::open(
      loop_, clock_, options_.opener, secrets_, std::move(options));
  if (!opened.ok()) {
    if (!is_dead_) options_.died(opened.error());
    co_return {};
  }
  controller_ = std::move(opened).value();
  if (!is_dead_) options_.opened();
  co_return {};
}

void Daemon::post(std::function<void()> what) {
  loop_.post([this, what = std::move(what)] {
    if (!is_dead_) what();
  });
}

Async<void> Daemon::end() {
  if (controller_ != nullptr) controller_->give_up();
  CO_TRY(co_await gate_.close());
  if (controller_ != nullptr) {
    Result<void> stopped = co_await controller_->stop();
    (void)stopped;  // Its disk is gone.
    controller_.reset();
  }
  has_ended_ = true;
  co_return {};
}

void Daemon::kill(const std::function<void()>& cut) {
  CHECK(!is_dead_, "a daemon is killed twice");
  is_dead_ = true;
  MUST(loop_.spawn(ending_, end()));
  const bool ended = process_->run_out(cut, [this] { return has_ended_ && ending_.inside() == 0; });
  CHECK(ended, "a daemon that was killed does not come to its end");
}

}  // namespace runnel::sim
