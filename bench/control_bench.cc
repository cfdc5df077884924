// What control costs per task: a job of many tasks whose node says at once that each has ended.
//
//   control_bench [tasks] [sqlite|memory] [cpus] [home]
//
// With a home (whose daemon is down) the log is the home's and stays.
// Prints tasks per second and CPU time per task of the whole process: brain, log writer, event log.
#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/gate.h"
#include "control/controller.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/remove_tree.h"
#include "store/memory/memory_log.h"
#include "store/sqlite/sqlite_log.h"

namespace runnel {
namespace {

using control::Controller;

// The name of a home's own node: a home that was opened before offers no other to run on.
constexpr const char* kNode = "local";

class NoSecrets final : public control::Secrets {
 public:
  Result<void> put(const JobId&, const control::SecretValues&, Taken) override { return {}; }
  Result<void> settle(const JobId&) override { return {}; }
  bool is_unsettled(const JobId&) override { return false; }
  Result<void> wipe(const JobId&) override { return {}; }
  Result<std::vector<JobId>> jobs() override { return std::vector<JobId>(); }
};

// Ends what it is told to start, one report per message.
class EchoNode final : public control::NodeLink {
 public:
  EchoNode(async::EventLoop& loop, Controller& controller)
      : loop_(loop), controller_(controller), gate_(loop) {}

  void send(model::NodeOrders orders) override {
    model::NodeReport report{orders.node, orders.incarnation, {}};
    for (const model::StartOrder& order : orders.start) {
      model::RankReport end;
      end.attempt = order.attempt;
      end.ended = true;
      end.started_at = end.ended_at = controller_.clock().wall();
      report.ranks.push_back(std::move(end));
    }
    if (!report.ranks.empty()) {
      (void)loop_.spawn(gate_, controller_.nodes().on_report(std::move(report),
                                                             node::UpSequence(++messages_up_)));
    }
  }
  Async<void> stop() { return gate_.close(); }

 private:
  async::EventLoop& loop_;
  Controller& controller_;
  async::Gate gate_;
  std::int64_t messages_up_ = 1;  // The join is the first.
};

control::Submission job_of(std::int64_t tasks) {
  auto spec = std::make_shared<model::JobSpec>();
  spec->name = "bench";
  spec->workdir = "/";
  model::StepSpec step;
  step.name = "only";
  step.run = model::Command::words({"/bin/true"});
  step.resources.milli_cpus = 1000;
  step.task_count = tasks;
  step.samples = tasks;
  spec->steps = {step};
  control::Submission submission;
  submission.spec = std::move(spec);
  return submission;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Bench {
  async::EventLoop& loop;
  Controller& controller;

  Async<void> run(std::int64_t tasks, std::int64_t cpus) {
    EchoNode node(loop, controller);
    controller.nodes().attach(NodeId(kNode), node);
    model::NodeJoin join;
    join.node.id = NodeId(kNode);
    join.node.capacity.milli_cpus = cpus * 1000;
    join.node.capacity.memory = Bytes::gibi(8);
    join.incarnation = Incarnation("1");
    Result<void> joined = co_await controller.nodes().on_join(std::move(join), node::UpSequence(1));
    CO_TRY(std::move(joined));
    const auto begin = std::chrono::steady_clock::now();
    const double cpu = cpu_seconds();
    Result<control::Answer> submitted = co_await controller.submit(
        job_of(tasks), model::Principal{ProjectId("default"), "bench"}, "");
    CO_TRY(std::move(submitted));
    while (controller.unfinished()) {
      Result<void> slept = co_await loop.sleep(Duration::millis(1));
      CO_TRY(std::move(slept));
    }
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
    const double used = cpu_seconds() - cpu;
    std::printf("%lld tasks on %lld cpus: %.3f s, %.0f tasks/s, %.1f us CPU per task\n",
                static_cast<long long>(tasks), static_cast<long long>(cpus), wall.count(),
                static_cast<double>(tasks) / wall.count(), used * 1e6 / static_cast<double>(tasks));
    controller.nodes().detach(NodeId(kNode));
    Result<void> stopped = co_await node.stop();
    co_return stopped;
  }
};

Result<void> run(std::int64_t tasks, const std::string& kind, std::int64_t cpus,
                 const std::string& home) {
  auto loop = TRY(async::EventLoop::create());
  const std::string scratch = TRY(env::make_temporary_directory("control-bench-"));
  const std::string path = (home.empty() ? scratch : home) + "/log";
  auto storage = std::make_shared<store::MemoryStorage>();
  control::LogOpener opener = [&]() -> Result<std::unique_ptr<store::EventLog>> {
    if (kind == "memory") return store::open_memory_log(storage);
    return store::open_sqlite_log(path, env::real_clock());
  };
  NoSecrets secrets;
  auto controller =
      TRY(loop->block_on(Controller::open(*loop, env::real_clock(), std::move(opener), secrets)));
  Bench bench{*loop, *controller};
  Result<void> done = loop->block_on(bench.run(tasks, cpus));
  TRY(loop->block_on(controller->stop()));
  TRY(env::remove_tree(scratch));
  return done;
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  const std::int64_t tasks = argc > 1 ? std::stoll(argv[1]) : 10'000;
  const std::string kind = argc > 2 ? argv[2] : "sqlite";
  const std::int64_t cpus = argc > 3 ? std::stoll(argv[3]) : 2;
  const std::string home = argc > 4 ? argv[4] : "";
  auto done = runnel::run(tasks, kind, cpus, home);
  if (done.ok()) return 0;
  std::fprintf(stderr, "%s\n", done.error().to_string().c_str());
  return 1;
}
