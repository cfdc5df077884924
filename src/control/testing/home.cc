#include "control/testing/home.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace runnel::control::testing {

Result<void> MemorySecrets::put(const JobId& job, const SecretValues& values, Taken taken) {
  const std::lock_guard<std::mutex> wait(held);
  const std::lock_guard<std::mutex> lock(mutex_);
  values_[job] = values;
  if (taken == Taken::kNotYet) unsettled_.insert(job);
  return {};
}

Result<void> MemorySecrets::settle(const JobId& job) {
  const std::lock_guard lock(mutex_);
  unsettled_.erase(job);
  return {};
}

bool MemorySecrets::is_unsettled(const JobId& job) {
  const std::lock_guard lock(mutex_);
  return unsettled_.contains(job);
}

Result<void> MemorySecrets::wipe(const JobId& job) {
  if (!wipes) return Error(Errc::kUnavailable, "the disk is read-only");
  const std::lock_guard<std::mutex> lock(mutex_);
  values_.erase(job);
  return {};
}

Result<std::vector<JobId>> MemorySecrets::jobs() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<JobId> ids;
  for (const auto& [job, values] : values_) ids.push_back(job);
  return ids;
}

std::map<JobId, SecretValues> MemorySecrets::kept() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return values_;
}

FakeNode::FakeNode(async::EventLoop& loop, Controller& controller, std::string name,
                   Behaviour behaviour)
    : loop_(loop),
      controller_(controller),
      id_(std::move(name)),
      behaviour_(behaviour),
      gate_(loop) {
  controller_.nodes().attach(id_, *this);
}

FakeNode::~FakeNode() { CHECK(gate_.closed(), "a fake node was destroyed before stop()"); }

Async<void> FakeNode::stop() {
  controller_.nodes().detach(id_);
  return gate_.close();
}

model::RankReport FakeNode::running(const model::AttemptRef& attempt, int rank) const {
  model::RankReport fact;
  fact.attempt = attempt;
  fact.rank = rank;
  fact.started_at = controller_.clock().wall();
  return fact;
}

model::RankReport FakeNode::ended(const model::AttemptRef& attempt, int code, int rank) const {
  model::RankReport fact = running(attempt, rank);
  fact.ended = true;
  fact.ended_at = fact.started_at;
  fact.code = code;
  return fact;
}

Async<void> FakeNode::join(std::int64_t cpus, std::vector<model::RankReport> inventory) {
  return join_as(next_up(), cpus, std::move(inventory));
}

Async<void> FakeNode::report(std::vector<model::RankReport> ranks) {
  return report_as(next_up(), std::move(ranks));
}

Async<void> FakeNode::join_as(node::UpSequence up, std::int64_t cpus,
                              std::vector<model::RankReport> inventory) {
  model::NodeJoin join;
  join.node.id = id_;
  join.node.capacity.milli_cpus = cpus * 1000;
  join.node.capacity.memory = Bytes::gibi(64);
  join.node.colocate = colocate;
  if (devices > 0) join.node.capacity.accelerators["H100"] = devices;
  join.incarnation = Incarnation(life);
  join.ranks = std::move(inventory);
  return controller_.nodes().on_join(std::move(join), up);
}

Async<void> FakeNode::report_as(node::UpSequence up, std::vector<model::RankReport> ranks) {
  return controller_.nodes().on_report({id_, Incarnation(life), std::move(ranks)}, up);
}

// Whether the order to start it is news to the node.
bool FakeNode::begins(const model::AttemptRef& attempt) {
  const auto [ran, is_new] = ran_.try_emplace(attempt, false);
  if (is_new) return true;
  if (ran->second) started_twice.push_back(attempt);
  return false;
}

void FakeNode::send(model::NodeOrders orders) {
  if (on_orders) on_orders();
  epoch = orders.epoch;
  std::vector<model::RankReport> facts;
  for (model::StartOrder& order : orders.start) {
    if (behaviour_ == Behaviour::kEcho) {
      if (!begins(order.attempt)) continue;
      const int code = code_of ? code_of(order.attempt) : 0;
      for (int rank = 0; rank < order.rank_count; ++rank) {
        facts.push_back(ended(order.attempt, code, order.first_rank + rank));
      }
    } else {
      started.push_back(std::move(order));
    }
  }
  for (model::WatchOrder& order : orders.watch) watched.push_back(std::move(order));
  for (model::StopOrder& order : orders.stop) stopped.push_back(std::move(order));
  for (const model::AttemptRef& attempt : orders.forget) {
    if (ran_.contains(attempt)) ran_[attempt] = true;
    forgotten.push_back(attempt);
  }
  for (const JobId& job : orders.remove) removed.push_back(job);
  if (facts.empty()) return;
  Result<void> begun = loop_.spawn(gate_, report(std::move(facts)));
  (void)begun;  // Stopping.
}

Submission submission(std::vector<model::StepSpec> steps, std::string name) {
  auto spec = std::make_shared<model::JobSpec>();
  spec->name = std::move(name);
  spec->workdir = "/";
  spec->steps = std::move(steps);
  Submission made;
  made.spec = std::move(spec);
  made.owner = "tester";
  made.fingerprint = made.spec->name;
  return made;
}

Home::Home() : loop(MUST(async::EventLoop::create())) {
  options.log.commit_interval_min = Duration();
  options.log.retry_after = Duration::millis(5);
  options.on_dead = [this](const Error& error) { deaths.push_back(error); };
}

Home::~Home() {
  if (controller_ != nullptr) stop();
}

void Home::open() {
  CHECK(controller_ == nullptr, "a home is opened twice");
  auto opened = wait(Controller::open(*loop, clock, watched_opener(watch), secrets, options));
  ASSERT_TRUE(opened.ok()) << opened.error().to_string();
  controller_ = std::move(opened).value();
}

void Home::stop() {
  auto stopped = wait(controller_->stop());
  EXPECT_TRUE(stopped.ok());
  controller_.reset();
}

// The log is copied before the stop, and the copy is what comes after: what stop() still writes is
// lost.
void Home::crash() {
  auto left = left_by_kill(watch);
  stop();
  watch.storage = left;
}

JobId Home::submit(std::vector<model::StepSpec> steps) {
  auto answer = wait(controller_->submit(submission(std::move(steps)), ann(), ""));
  EXPECT_TRUE(answer.ok()) << answer.error().to_string();
  if (!answer.ok()) return JobId();
  EXPECT_FALSE(answer->outcome.refusal) << answer->outcome.refusal->to_string();
  return answer->outcome.job;
}

Result<Answer> Home::call(model::JobRequest::Verb verb, const JobId& job) {
  JobCall wanted;
  wanted.verb = verb;
  wanted.job = job;
  wanted.actor = "tester";
  return wait(controller_->call(std::move(wanted)));
}

model::Status Home::status(const JobId& job) { return controller_->state().jobs.at(job).status; }

void Home::until(std::function<bool()> condition) {
  bool held = condition();
  for (int turn = 0; turn < 10'000 && !held; ++turn) {
    auto slept = wait(loop->sleep(Duration::millis(1)));
    ASSERT_TRUE(slept.ok());
    held = condition();
  }
  EXPECT_TRUE(held);
}

}  // namespace runnel::control::testing
