// What a decision of the brain costs on a full cluster with a long queue: nothing here writes a
// log.
//
//   planner_bench NODES LANES STEPS [seconds]
//
// NODES nodes with LANES cpus together, all of them taken by lanes of one cpu, and STEPS steps that
// wait, the oldest of them a gang that needs a third of the nodes whole and has lost its patience.
// Then tasks end, one per decision, for so many seconds at most; after that steps are submitted,
// and explained, and the state is copied, as a due snapshot does. Prints one JSON object with the median and the 99th percentile of each in
// microseconds.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <iterator>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "brain/brain.h"
#include "brain/explain.h"
#include "model/input.h"

namespace runnel {
namespace {

constexpr std::int64_t kTasksPerJob = 100;
constexpr std::size_t kSamplesMax = 2'000;
constexpr std::size_t kSamplesMin = 5;

struct Size {
  std::int64_t nodes = 0;
  std::int64_t lanes = 0;
  std::int64_t steps = 0;
};

class Cluster {
 public:
  explicit Cluster(Size size) : size_(size) {
    for (std::int64_t left = size.lanes; left > 0; left -= kTasksPerJob) submit_running(left);
    submit(step(static_cast<std::int32_t>(size.nodes / 3 + 1), size.lanes / size.nodes, 1), 0);
    for (std::int64_t each = 1; each < size.steps; ++each) submit(waiting(each), 0);
    for (std::int64_t each = 0; each < size.nodes; ++each) join(each);
    now_ = now_ + Duration::minutes(5);
    unfinished_ = unfinished();
  }

  std::int64_t lanes() const { return std::ssize(brain_.state().lanes); }

  void end_one() {
    while (unfinished() < unfinished_) submit(waiting(pick(size_.steps)), 0);
    const auto& lanes = brain_.state().lanes;
    auto lane = lanes.lower_bound(LaneId(pick(brain_.state().last_lane.value())));
    if (lane == lanes.end()) lane = lanes.begin();
    std::vector<model::NodeReport> reports = end_of(lane->second);
    now_ = now_ + Duration::millis(10);
    for (std::size_t rank = 0; rank + 1 < reports.size(); ++rank) {
      (void)brain_.decide(reports[rank], now_);
    }
    timed_ = [this, last = std::move(reports.back())] { (void)brain_.decide(last, now_); };
  }
  void submit_one() {
    now_ = now_ + Duration::millis(10);
    timed_ = [this, input = submission(waiting(pick(size_.steps)), 0)] {
      (void)brain_.decide(input, now_);
    };
  }
  // What a due snapshot does between two inputs.
  void copy_state() {
    timed_ = [this] { const brain::State copy = brain_.state(); };
  }
  void explain_one() {
    timed_ = [this, job = last_] { (void)brain_.explain(job, now_); };
  }
  double micros() const {
    const auto begin = std::chrono::steady_clock::now();
    timed_();
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
        .count();
  }

 private:
  std::int64_t pick(std::int64_t most) {
    return 1 + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most));
  }

  std::int64_t unfinished() const {
    return std::ssize(brain_.state().jobs) - std::ssize(brain_.state().finished);
  }

  // The end of what runs on the lane, by rank.
  std::vector<model::NodeReport> end_of(const brain::Lane& lane) const {
    const model::TaskRef task{lane.job, lane.step, lane.queue.front()};
    const AttemptNumber number = brain::find_task(brain_.state(), task)->live->number;
    std::vector<model::NodeReport> reports;
    for (const model::Place& place : lane.places()) {
      model::RankReport end;
      end.attempt = {task, number};
      end.rank = static_cast<std::int32_t>(reports.size());
      end.ended = true;
      end.started_at = lane.opened_at;
      end.ended_at = now_;
      reports.push_back({place.node, Incarnation("1"), {std::move(end)}});
    }
    return reports;
  }

  static model::StepSpec step(std::int32_t nodes, std::int64_t cpus, std::int64_t tasks) {
    model::StepSpec step;
    step.name = "only";
    step.run = model::Command::words({"/bin/true"});
    step.num_nodes = nodes;
    step.resources.milli_cpus = cpus * 1000;
    step.task_count = tasks;
    if (tasks > 1) step.samples = tasks;
    return step;
  }
  // One of ten steps is a gang of four, three want four cpus, the others one.
  static model::StepSpec waiting(std::int64_t number) {
    if (number % 10 == 0) return step(4, 4, 2);
    if (number % 10 < 4) return step(1, 4, 5);
    model::StepSpec small = step(1, 1, 10);
    if (number % 2 == 0) small.max_duration = Duration::minutes(number % 60 + 1);
    return small;
  }
  // Three of four jobs say how long they may take.
  void submit_running(std::int64_t left) {
    model::StepSpec running = step(1, 1, std::min(left, kTasksPerJob));
    if (++running_ % 4 != 0) running.max_duration = Duration::minutes(10 + pick(600));
    submit(running, 1);
  }

  model::Submit submission(model::StepSpec step, std::int32_t priority) {
    auto spec = std::make_shared<model::JobSpec>();
    spec->name = "bench";
    spec->workdir = "/";
    spec->priority = priority;
    spec->steps = {std::move(step)};
    model::Submit input;
    input.job = last_ = JobId("job" + std::to_string(++jobs_));
    input.spec = std::move(spec);
    return input;
  }
  void submit(model::StepSpec step, std::int32_t priority) {
    (void)brain_.decide(submission(std::move(step), priority), now_);
  }
  void join(std::int64_t number) {
    model::NodeJoin input;
    input.node.id = NodeId("node" + std::to_string(number));
    const std::int64_t more = number < size_.lanes % size_.nodes ? 1 : 0;
    input.node.capacity.milli_cpus = (size_.lanes / size_.nodes + more) * 1000;
    input.node.capacity.memory = Bytes::gibi(8);
    input.incarnation = Incarnation("1");
    (void)brain_.decide(input, now_);
  }

  const Size size_;
  std::mt19937_64 random_{1};
  brain::Brain brain_;
  Time now_ = Time::from_millis(1'000'000);
  std::int64_t unfinished_ = 0;  // Jobs, and kept at that.
  std::int64_t running_ = 0;
  std::int64_t jobs_ = 0;
  JobId last_;
  std::function<void()> timed_;
};

// `prepare` makes the next one, which alone is measured.
std::string measured(Cluster& cluster, double seconds, const std::function<void()>& prepare) {
  std::vector<double> all;
  double sum = 0;
  while (all.size() < kSamplesMin || (sum < seconds * 1e6 && all.size() < kSamplesMax)) {
    prepare();
    all.push_back(cluster.micros());
    sum += all.back();
  }
  std::sort(all.begin(), all.end());
  char text[128];
  std::snprintf(text, sizeof text, R"({"count": %zu, "median_us": %.1f, "p99_us": %.1f})",
                all.size(), all[all.size() / 2], all[all.size() * 99 / 100]);
  return text;
}

void run(Size size, double seconds) {
  Cluster cluster(size);
  const auto lanes = static_cast<long long>(cluster.lanes());
  const std::string ends = measured(cluster, seconds, [&] { cluster.end_one(); });
  const std::string submits = measured(cluster, seconds, [&] { cluster.submit_one(); });
  const std::string explains = measured(cluster, seconds, [&] { cluster.explain_one(); });
  const std::string copies = measured(cluster, seconds, [&] { cluster.copy_state(); });
  std::printf(R"({"nodes": %lld, "lanes": %lld, "steps": %lld, "end": %s, "submit": %s, )"
              R"("explain": %s, "copy": %s})"
              "\n",
              static_cast<long long>(size.nodes), lanes, static_cast<long long>(size.steps),
              ends.c_str(), submits.c_str(), explains.c_str(), copies.c_str());
}

}  // namespace
}  // namespace runnel

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: planner_bench NODES LANES STEPS [seconds]\n");
    return 2;
  }
  const double seconds = argc > 4 ? std::stod(argv[4]) : 10;
  runnel::run({std::stoll(argv[1]), std::stoll(argv[2]), std::stoll(argv[3])}, seconds);
  return 0;
}
