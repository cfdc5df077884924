#include "async/virtual/process.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/split_mix.h"

namespace runnel::async {
namespace {

// A process that posts to itself for ever would stop the time.
constexpr std::int64_t kTurnMax = 10'000'000;

}  // namespace

// Shared with what is planned on the agenda, which may come after the process.
class VirtualProcess::State : public std::enable_shared_from_this<State> {
 public:
  State(Agenda& agenda, VirtualOptions options)
      : agenda(agenda), options(std::move(options)), ties_(this->options.seed) {}

  struct Ready {
    std::coroutine_handle<> waiting;  // Or else ...
    Action action;
  };

  void push(Ready ready) {
    queue_.push_back(std::move(ready));
    if (turn_planned_ || frozen_ || running_out_) return;
    turn_planned_ = true;
    agenda.at(agenda.now(), [state = weak_from_this()] {
      const std::shared_ptr<State> alive = state.lock();
      if (alive == nullptr) return;
      alive->turn_planned_ = false;
      if (!alive->frozen_) alive->turn();
    });
  }

  // Not while it is frozen, and then in the order of their moments.
  void when_awake(Action action) {
    if (frozen_) {
      held_.push_back(std::move(action));
    } else {
      action();
      turn();
    }
  }

  void after(Duration delay, Action action, std::uint64_t tie) {
    agenda.at(
        agenda.now() + delay,
        [state = weak_from_this(), action = std::move(action)] {
          const std::shared_ptr<State> alive = state.lock();
          if (alive != nullptr) alive->when_awake(action);
        },
        tie);
  }

  void turn() {
    for (std::int64_t count = 0; !queue_.empty(); ++count) {
      CHECK(count < kTurnMax, "a process in virtual time never comes to rest");
      const Ready ready = std::move(queue_.front());
      queue_.pop_front();
      if (ready.waiting) {
        ready.waiting.resume();
      } else {
        ready.action();
      }
    }
  }

  void freeze() { frozen_ = true; }
  void thaw() {
    if (!std::exchange(frozen_, false)) return;
    std::vector<Action> held = std::exchange(held_, {});
    for (Action& action : held) when_awake(std::move(action));
    turn();
  }

  bool run_out(const std::function<void()>& cut, const std::function<bool()>& done) {
    running_out_ = true;
    frozen_ = false;
    for (Action& action : std::exchange(held_, {})) push({{}, std::move(action)});
    auto unfinished = std::exchange(unfinished_, {});
    for (auto& [order, thread] : unfinished) thread.in_flight();
    cut();
    for (auto& [order, thread] : unfinished) thread.rest();
    while (true) {
      turn();
      if (done()) return true;
      if (timers_.empty()) return false;
      const auto first = timers_.begin();
      ran_out_to_ = first->first.first;
      const Action due = std::move(first->second);
      timers_.erase(first);
      due();
    }
  }
  bool running_out() const { return running_out_; }

  // Planned work refers to the queues that it is planned in.
  void clear() {
    queue_.clear();
    held_.clear();
    timers_.clear();
    unfinished_.clear();
  }

  std::uint64_t random() { return ties_.next(); }

  // Timers by when they are due.
  using TimerKey = std::pair<Time, std::uint64_t>;
  TimerKey add_timer(Duration delay, Action action) {
    // One that is set again and again comes after those that were set before.
    const TimerKey key{std::max(agenda.now(), ran_out_to_) + delay, next_++};
    timers_.emplace(key, std::move(action));
    return key;
  }
  void drop_timer(const TimerKey& key) { timers_.erase(key); }
  Action take_timer(const TimerKey& key) {
    const auto found = timers_.find(key);
    if (found == timers_.end()) return nullptr;
    Action action = std::move(found->second);
    timers_.erase(found);
    return action;
  }
  bool has_timer(const TimerKey& key) const { return timers_.contains(key); }

  // What a thread has still to do when its process is killed.
  struct Unfinished {
    Action in_flight;
    Action rest;
  };
  std::uint64_t add_unfinished(Unfinished thread) {
    unfinished_.emplace(next_, std::move(thread));
    return next_++;
  }
  void drop_unfinished(std::uint64_t key) { unfinished_.erase(key); }

  Agenda& agenda;
  VirtualOptions options;
  bool stopped = false;

 private:
  SplitMix64 ties_;
  std::deque<Ready> queue_;
  std::vector<Action> held_;
  std::map<TimerKey, Action> timers_;
  std::map<std::uint64_t, Unfinished> unfinished_;
  std::uint64_t next_ = 0;
  bool turn_planned_ = false;
  bool frozen_ = false;
  bool running_out_ = false;
  Time ran_out_to_;  // When the last timer was due that ran then.
};

class VirtualProcess::VirtualTimer final : public Driver::Timer {
 public:
  explicit VirtualTimer(std::shared_ptr<State> state) : state_(std::move(state)) {}
  ~VirtualTimer() override { state_->drop_timer(key_); }
  VirtualTimer(const VirtualTimer&) = delete;
  VirtualTimer& operator=(const VirtualTimer&) = delete;

  void start(Duration delay, Action action) override {
    state_->drop_timer(key_);
    const Duration length = std::max(delay, Duration());
    key_ = state_->add_timer(length, std::move(action));
    if (state_->running_out()) return;
    state_->after(
        length,
        [state = state_.get(), key = key_] {
          const Action due = state->take_timer(key);
          if (due != nullptr) due();
        },
        state_->random());
  }
  void cancel() override { state_->drop_timer(key_); }
  bool active() const override { return state_->has_timer(key_); }

 private:
  std::shared_ptr<State> state_;
  State::TimerKey key_;
};

class VirtualProcess::VirtualThread final : public Driver::Thread {
 public:
  VirtualThread(std::shared_ptr<State> state, std::string name)
      : line_(std::make_shared<Line>(std::move(state), std::move(name))) {}
  ~VirtualThread() override { CHECK(line_->ended, "a thread was destroyed that nobody ended"); }
  VirtualThread(const VirtualThread&) = delete;
  VirtualThread& operator=(const VirtualThread&) = delete;

  void run(Action call, Action done) override {
    CHECK(!line_->ending, "a call after the end of a thread");
    line_->add({std::move(call), std::move(done)});
  }
  void end(Action ended) override {
    CHECK(!std::exchange(line_->ending, true), "a thread is ended twice");
    line_->add({[line = line_.get()] { line->ended = true; }, std::move(ended)});
  }

 private:
  struct Job {
    Action call;
    Action done;
  };

  // The calls, one after another; the agenda may hold the first after the thread is gone.
  struct Line : std::enable_shared_from_this<Line> {
    Line(std::shared_ptr<State> of, std::string called)
        : state(std::move(of)), name(std::move(called)) {}

    void add(Job job) {
      jobs.push_back(std::move(job));
      if (jobs.size() == 1) begin();
    }
    void begin() {
      if (state->running_out()) return finish_all();
      const Duration latency = state->options.latency ? state->options.latency(name) : Duration();
      unfinished = state->add_unfinished({[self = shared_from_this()] { self->finish(); },
                                          [self = shared_from_this()] { self->finish_all(); }});
      state->after(
          latency,
          [self = shared_from_this(), number = unfinished] {
            if (self->jobs.empty() || self->unfinished != number || self->state->running_out()) {
              return;
            }
            self->state->drop_unfinished(number);
            self->finish();
            if (!self->jobs.empty()) self->begin();
          },
          state->random());
    }
    void finish() {
      Job job = std::move(jobs.front());
      job.call();
      jobs.pop_front();
      state->push({{}, std::move(job.done)});
    }
    void finish_all() {
      while (!jobs.empty()) finish();
    }

    std::shared_ptr<State> state;
    const std::string name;
    std::deque<Job> jobs;
    std::uint64_t unfinished = 0;
    bool ending = false;
    bool ended = false;
  };

  std::shared_ptr<Line> line_;
};

VirtualProcess::VirtualProcess(Agenda& agenda, VirtualOptions options)
    : state_(std::make_shared<State>(agenda, std::move(options))) {}

VirtualProcess::~VirtualProcess() { state_->clear(); }

void VirtualProcess::post(Action action) { state_->push({{}, std::move(action)}); }

void VirtualProcess::resume(std::coroutine_handle<> waiting) { state_->push({waiting, {}}); }

std::unique_ptr<Driver::Timer> VirtualProcess::timer() {
  return std::make_unique<VirtualTimer>(state_);
}

Result<std::unique_ptr<Driver::Thread>> VirtualProcess::thread(const std::string& name) {
  return std::unique_ptr<Driver::Thread>(std::make_unique<VirtualThread>(state_, name));
}

void VirtualProcess::run() {
  while (!state_->stopped) state_->agenda.step();
  state_->stopped = false;
}

void VirtualProcess::stop() { state_->stopped = true; }

void VirtualProcess::freeze() { state_->freeze(); }

void VirtualProcess::thaw() { state_->thaw(); }

bool VirtualProcess::run_out(const std::function<void()>& cut, const std::function<bool()>& done) {
  return state_->run_out(cut, done);
}

}  // namespace runnel::async
