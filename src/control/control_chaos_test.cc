// A whole control with nodes that work, while the disk fails, messages are lost and the process is
// killed: what users were promised holds.
#include <random>

#include <gtest/gtest.h>

#include "control/testing/home.h"

namespace runnel::control {
namespace {

using testing::Home;
using testing::step;
using Verb = model::JobRequest::Verb;

// A node with a memory of its own, as a runner is: it outlives the control and says the truth.
//
// Attempts that were started end when the test lets time pass; their exit records are kept until
// they are to be forgotten. Messages down may be dropped.
class HonestNode final : public NodeLink {
 public:
  explicit HonestNode(std::mt19937& random) : random_(random) {}

  void send(model::NodeOrders orders) override {
    if (random_() % 8 == 0) {
      lost = true;  // The connection broke: it will join again.
      return;
    }
    for (const model::StartOrder& order : orders.start) {
      if (records.count(order.attempt) != 0) continue;
      if (!ever_started.insert(order.attempt).second) ++started_twice;
      records[order.attempt] = false;
    }
    for (const model::StopOrder& order : orders.stop) {
      auto record = records.find(order.attempt);
      if (record == records.end()) continue;
      record->second = true;
    }
    for (const model::AttemptRef& attempt : orders.forget) records.erase(attempt);
  }

  // Some of what runs comes to its end.
  void work() {
    for (auto& [attempt, over] : records) over = over || random_() % 3 == 0;
  }

  std::vector<model::RankReport> inventory(Time now) const {
    std::vector<model::RankReport> all;
    for (const auto& [attempt, over] : records) {
      model::RankReport rank;
      rank.attempt = attempt;
      rank.ended = over;
      rank.started_at = now;
      if (over) rank.ended_at = now;
      all.push_back(std::move(rank));
    }
    return all;
  }

  bool lost = false;
  int started_twice = 0;                      // Again, after it was forgotten.
  std::map<model::AttemptRef, bool> records;  // And whether it has ended.
  std::set<model::AttemptRef> ever_started;

 private:
  std::mt19937& random_;
};

class ControlChaos : public ::testing::TestWithParam<int> {
 protected:
  ControlChaos() : random_(static_cast<unsigned>(GetParam())), node_(random_) {
    home_.options.log.snapshot_every_events = 20;
    home_.open();
    join();
  }

  void join() {
    node_.lost = false;
    home_.control().nodes().attach(NodeId("n1"), node_);
    model::NodeJoin input;
    input.node.id = NodeId("n1");
    input.node.capacity.milli_cpus = 3000;
    input.node.capacity.memory = Bytes::gibi(8);
    input.incarnation = Incarnation("1");
    input.ranks = node_.inventory(home_.clock.wall());
    ASSERT_TRUE(home_.wait(home_.control().nodes().on_join(std::move(input), next_up())).ok());
  }

  void report() {
    node_.work();
    if (node_.lost) return join();
    model::NodeReport input{NodeId("n1"), Incarnation("1"), node_.inventory(home_.clock.wall())};
    if (input.ranks.empty()) return;
    ASSERT_TRUE(home_.wait(home_.control().nodes().on_report(std::move(input), next_up())).ok());
  }

  // A request whose answer may be that the disk failed: remembers what was promised.
  void submit() {
    auto answer = home_.wait(home_.control().submit(
        testing::submission({step("a", 1 + random_() % 5)}), testing::ann(), ""));
    if (answer.ok() && !answer->outcome.refusal) promised_.insert(answer->outcome.job);
  }

  void upset() {
    switch (random_() % 8) {
      case 0: home_.watch.storage->next_append = store::AppendFault::kFull; break;
      case 1: home_.watch.storage->next_append = store::AppendFault::kTorn; break;
      case 2: home_.watch.storage->next_append = store::AppendFault::kIo; break;
      case 3: home_.watch.storage->next_append = store::AppendFault::kKept; break;
      case 4:
        home_.control().nodes().detach(NodeId("n1"));
        home_.crash();
        home_.watch.storage->next_append = store::AppendFault::kNone;
        home_.open();
        join();
        break;
      default: break;
    }
  }

  node::UpSequence next_up() { return node::UpSequence(++messages_up_); }

  bool all_ended() {
    for (const JobId& job : promised_) {
      if (!model::is_end(home_.status(job))) return false;
    }
    return true;
  }

  std::mt19937 random_;
  Home home_;
  HonestNode node_;
  std::set<JobId> promised_;
  std::int64_t messages_up_ = 0;
};

TEST_P(ControlChaos, EveryPromisedJobSucceedsAndNoAttemptRunsTwice) {
  for (int round = 0; round < 40; ++round) {
    upset();
    if (random_() % 3 == 0) submit();
    report();
    home_.clock.advance(Duration::millis(100));
  }
  home_.watch.storage->next_append = store::AppendFault::kNone;
  for (int round = 0; round < 500 && !all_ended(); ++round) {
    report();
    home_.clock.advance(Duration::seconds(1));
  }
  ASSERT_FALSE(promised_.empty());
  for (const auto& [job, unused] : home_.control().state().jobs) {
    EXPECT_TRUE(promised_.contains(job)) << job << " was said not to be accepted";
  }
  std::int64_t tasks = 0;
  for (const JobId& job : promised_) {
    ASSERT_EQ(home_.control().state().jobs.count(job), 1U) << job;
    EXPECT_EQ(home_.status(job), model::Status::kSucceeded) << job;
    tasks += home_.control().state().jobs.at(job).spec->steps.front().task_count;
  }
  EXPECT_GE(std::ssize(node_.ever_started), tasks);
  report();
  report();
  EXPECT_TRUE(node_.records.empty() || node_.lost);
  EXPECT_EQ(node_.started_twice, 0);
  home_.control().nodes().detach(NodeId("n1"));
}

INSTANTIATE_TEST_SUITE_P(Seeds, ControlChaos, ::testing::Range(1, 21));

}  // namespace
}  // namespace runnel::control
