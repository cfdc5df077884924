#include "async/detail/asio_driver.h"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "async/detail/machine_thread.h"
#include "base/check.h"

namespace runnel::async::detail {

namespace asio = boost::asio;
using ErrorCode = boost::system::error_code;

namespace {

void arm(AsioDriver::Signal& signal) {
  signal.set.async_wait([&signal](ErrorCode error, int) {
    if (error) return;  // The loop is being destroyed.
    signal.action();
    arm(signal);
  });
}

class AsioTimer final : public Driver::Timer {
 public:
  explicit AsioTimer(AsioDriver& driver)
      : driver_(driver), state_(std::make_shared<State>(driver.context())) {}
  ~AsioTimer() override { cancel(); }
  AsioTimer(const AsioTimer&) = delete;
  AsioTimer& operator=(const AsioTimer&) = delete;

  void start(Duration delay, Driver::Action action) override {
    CHECK(driver_.on_thread(), "a timer is started from another thread");
    state_->action = std::move(action);
    state_->active = true;
    const std::uint64_t generation = ++state_->generation;
    state_->timer.expires_after(std::chrono::milliseconds(delay.millis()));
    state_->timer.async_wait([state = state_, generation](ErrorCode) {
      if (!state->active || generation != state->generation) return;
      state->active = false;
      const Driver::Action due = std::move(state->action);
      due();
    });
  }

  void cancel() override {
    if (!state_->active) return;
    CHECK(driver_.on_thread(), "a timer is cancelled from another thread");
    state_->active = false;
    state_->action = nullptr;
    state_->timer.cancel();
  }

  bool active() const override { return state_->active; }

 private:
  struct State {
    explicit State(asio::io_context& context) : timer(context) {}
    asio::steady_timer timer;
    Driver::Action action;
    std::uint64_t generation = 0;  // Tells a late completion that it was replaced.
    bool active = false;
  };

  AsioDriver& driver_;
  std::shared_ptr<State> state_;  // Shared with the pending completion, which may come after us.
};

}  // namespace

AsioDriver::~AsioDriver() {
  CHECK(runner_.load() == std::thread::id(), "an event loop was destroyed while it ran");
}

void AsioDriver::post(Action action) { asio::post(context_, std::move(action)); }

void AsioDriver::resume(std::coroutine_handle<> waiting) {
  asio::post(context_, [waiting] { waiting.resume(); });
}

std::unique_ptr<Driver::Timer> AsioDriver::timer() { return std::make_unique<AsioTimer>(*this); }

Result<std::unique_ptr<Driver::Thread>> AsioDriver::thread(const std::string& name) {
  return MachineThread::start(*this, name);
}

void AsioDriver::run() {
  CHECK(runner_.exchange(std::this_thread::get_id()) == std::thread::id(),
        "run() of an event loop that runs already");
  thread_id_.store(::gettid());
  if (counts_turns_) {
    while (context_.run_one() > 0) ++turns_;
  } else {
    context_.run();
  }
  context_.restart();  // After the run: a stop() that came before it must not be lost.
  runner_.store(std::thread::id());
}

void AsioDriver::stop() { context_.stop(); }

bool AsioDriver::on_thread() const {
  const std::thread::id runner = runner_.load();
  return runner == std::thread::id() || runner == std::this_thread::get_id();
}

Result<void> AsioDriver::on_signal(int signal_number, std::function<void()> action) {
  std::unique_ptr<Signal>& signal = signals_[signal_number];
  if (signal != nullptr) {
    signal->action = std::move(action);
    return {};
  }
  signal = std::make_unique<Signal>(context_);
  ErrorCode error;
  signal->set.add(signal_number, error);
  if (error) {
    signals_.erase(signal_number);
    return errno_error("cannot handle signal " + std::to_string(signal_number), error.value());
  }
  signal->action = std::move(action);
  arm(*signal);
  return {};
}

AsioDriver& asio_driver(EventLoop& loop) {
  auto* driver = dynamic_cast<AsioDriver*>(&loop.driver());
  CHECK(driver != nullptr, "a loop in virtual time watches no descriptors and no signals");
  return *driver;
}

}  // namespace runnel::async::detail
