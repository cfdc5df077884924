#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/gate.h"
#include "brain/testing/brain_harness.h"
#include "control/controller.h"
#include "control/node_link.h"
#include "control/secrets.h"
#include "control/testing/watched_log.h"
#include "env/testing/manual_clock.h"
#include "model/input.h"
#include "model/spec.h"

namespace runnel::control::testing {

// Secrets that a test can look at.
class MemorySecrets final : public Secrets {
 public:
  Result<void> put(const JobId& job, const SecretValues& values, Taken taken) override;
  Result<void> settle(const JobId& job) override;
  Result<void> wipe(const JobId& job) override;
  Result<std::vector<JobId>> jobs() override;
  bool is_unsettled(const JobId& job) override;
  std::map<JobId, SecretValues> kept() const;

  std::mutex held;                 // Blocks put() while it is held.
  std::atomic<bool> wipes = true;  // Otherwise a wipe is refused.

 private:
  mutable std::mutex mutex_;
  std::map<JobId, SecretValues> values_;
  std::set<JobId> unsettled_;
};

// A node that runs nothing: it says what a real one would, at once or when told to.
//
// Contract: keeps what it was ordered. With `echo` each start is answered with "it ran and ended"
//           with the code that `code_of` gives, in one report per message; a start of what it ran
//           and was not told to forget changes nothing, as on a real node.
// Lifetime: settle() or the home's stop() before destruction.
class FakeNode final : public NodeLink {
 public:
  enum class Behaviour : std::uint8_t { kSilent, kEcho };

  FakeNode(async::EventLoop& loop, Controller& controller, std::string name, Behaviour behaviour);
  ~FakeNode() override;

  void send(model::NodeOrders orders) override;
  // Called with each message of orders, before it is carried out.
  std::function<void()> on_orders;
  Async<void> join(std::int64_t cpus, std::vector<model::RankReport> inventory = {});
  Async<void> report(std::vector<model::RankReport> ranks);
  // For a message that was sent now and arrives later.
  node::UpSequence next_up() { return node::UpSequence(++messages_up_); }
  Async<void> join_as(node::UpSequence up, std::int64_t cpus,
                      std::vector<model::RankReport> inventory);
  Async<void> report_as(node::UpSequence up, std::vector<model::RankReport> ranks);
  Async<void> stop();

  model::RankReport running(const model::AttemptRef& attempt, int rank = 0) const;
  model::RankReport ended(const model::AttemptRef& attempt, int code, int rank = 0) const;

  std::vector<model::StartOrder> started;
  std::vector<model::WatchOrder> watched;
  std::vector<model::StopOrder> stopped;
  std::vector<model::AttemptRef> forgotten;
  std::vector<JobId> removed;
  std::vector<model::AttemptRef> started_twice;  // Echo: started again after they were forgotten.
  Epoch epoch;
  std::function<int(const model::AttemptRef&)> code_of;
  bool colocate = false;
  std::int64_t devices = 0;
  std::string life = "1";

 private:
  bool begins(const model::AttemptRef& attempt);

  async::EventLoop& loop_;
  Controller& controller_;
  NodeId id_;
  Behaviour behaviour_;
  std::int64_t messages_up_ = 0;
  std::map<model::AttemptRef, bool> ran_;  // Echo: and whether it was told to forget them.
  async::Gate gate_;
};

using brain::testing::step;
// The user who submits what a test submits.
inline model::Principal ann() { return {ProjectId("default"), "ann"}; }

Submission submission(std::vector<model::StepSpec> steps, std::string name = "job");

// A control on a log in memory with a clock that stands still: what a test of control begins with.
class Home {
 public:
  Home();
  ~Home();

  // Opens the controller; again after stop() or crash().
  void open();
  void stop();
  // What a kill leaves behind: the log as it is. Nothing is committed or kept any more.
  void crash();

  Controller& control() { return *controller_; }
  LogWriter& writer() { return controller_->writer(); }
  JobId submit(std::vector<model::StepSpec> steps);
  Result<Answer> call(model::JobRequest::Verb verb, const JobId& job);
  model::Status status(const JobId& job);
  // Turns the loop until `condition` holds; fails the test after ten seconds.
  void until(std::function<bool()> condition);

  template <typename T>
  Result<T> wait(Async<T> work) {
    return loop->block_on(std::move(work));
  }

  std::unique_ptr<async::EventLoop> loop;
  env::testing::ManualClock clock;
  LogWatch watch;
  MemorySecrets secrets;
  ControllerOptions options;
  std::vector<Error> deaths;

 private:
  std::unique_ptr<Controller> controller_;
};

// Appends of the log one by one: each waits until it is let through, once it has begun.
class Turnstile {
 public:
  explicit Turnstile(Home& home) : home_(home) { home_.watch.held.lock(); }
  ~Turnstile() { home_.watch.held.unlock(); }
  void let_one_through() {
    home_.until([this] { return home_.watch.waiting > 0; });
    home_.watch.held.unlock();
    while (home_.watch.waiting > 0) std::this_thread::yield();
    home_.watch.held.lock();
  }

 private:
  Home& home_;
};

}  // namespace runnel::control::testing
