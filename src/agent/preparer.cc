#include "agent/preparer.h"

#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "output/index_file.h"
#include "output/metrics_begin.h"
#include "output/paths.h"

namespace runnel::agent {
namespace {

output::MetricPlans::Key plan_key(const model::TaskRef& task) { return {task.job, task.step}; }

// Only rank 0 reports, and only where the step says of what.
bool keeps_plan(const model::StartOrder& order) {
  return order.first_rank == 0 && !order.metrics.empty();
}

// An attempt that has earlier ones, whose metrics are not its own.
bool begins_again(const model::StartOrder& order) {
  return order.first_rank == 0 && order.is_followed && order.attempt.attempt.value() > 1;
}

bool reads_output(const model::StartOrder& order) {
  return order.first_rank == 0 && !order.objectives.empty() && !order.metrics.log.empty();
}

CheckpointCopy copy_of(const std::string& home, const runner::PlaceStart& place,
                       const model::CheckpointSource& source) {
  const std::string own = output::task_folder(home, place.attempt.task);
  return {output::task_folder(home, source.task) + "/" + checkpoint_dir(source.dir),
          own + "/" + place.checkpoint_dir, own, source.number};
}

}  // namespace

Preparer::Preparer(async::EventLoop& loop, env::Clock& clock, PlaceContext context,
                   std::size_t queued_max)
    : loop_(loop),
      context_(std::move(context)),
      queued_max_(queued_max),
      reads_(loop, clock),
      begin_reads_(loop, clock, "agent-begins") {}

Result<void> Preparer::start() {
  CHECK(!plan_files_, "a preparer starts twice");
  plan_files_ =
      TRY(async::Worker::create(loop_, {.name = "agent-plans", .queued_max = queued_max_}));
  copies_ = TRY(async::Worker::create(loop_, {.name = "agent-copies"}));
  return {};
}

Async<void> Preparer::stop() {
  for (std::unique_ptr<async::Worker>* worker : {&copies_, &plan_files_}) {
    if (*worker) (void)co_await (*worker)->stop();
    worker->reset();
  }
  co_return {};
}

bool Preparer::needs_files(const model::StartOrder& order) const {
  const bool plan_is_new = keeps_plan(order) && !plans_.find(plan_key(order.attempt.task),
                                                             order.metrics, order.objectives);
  return plan_is_new || begins_again(order) || reads_output(order) || !order.secrets.empty() ||
         order.checkpoint_from;
}

std::optional<Result<Preparer::Prepared>> Preparer::at_once(const NodeId& node,
                                                            const model::StartOrder& order) const {
  if (needs_files(order)) return std::nullopt;
  Result<runner::PlaceStart> place = place_of(context_, node, order, {});
  if (!place.ok()) return Result<Prepared>(std::move(place).error());
  return Result<Prepared>(
      Prepared{std::move(*place), keeps_plan(order) ? plan_of(order.attempt.task) : nullptr});
}

Async<Preparer::Prepared> Preparer::prepare(NodeId node, model::StartOrder order,
                                            async::StopToken stop) {
  Prepared prepared;
  Result<SecretTexts> read = co_await read_secrets(order, stop);
  const SecretTexts texts = CO_TRY(std::move(read));
  prepared.place = CO_TRY(place_of(context_, node, order, texts));
  if (keeps_plan(order)) {
    Result<void> kept = co_await keep_plan(order);
    CO_TRY(std::move(kept));
    prepared.plan = plan_of(order.attempt.task);
  }
  if (begins_again(order)) {
    Result<void> kept = co_await keep_begin(order, stop);
    CO_TRY(std::move(kept));
  }
  if (order.checkpoint_from) {
    Result<void> made =
        co_await copy(copy_of(context_.home, prepared.place, *order.checkpoint_from), stop);
    CO_TRY(std::move(made));
  }
  if (reads_output(order)) {
    Result<std::int64_t> from = co_await output_begin(order.attempt.task.job);
    prepared.output_from = CO_TRY(std::move(from));
  }
  co_return prepared;
}

Async<SecretTexts> Preparer::read_secrets(const model::StartOrder& order, async::StopToken stop) {
  SecretTexts texts;
  const auto files = secret_files(context_.home, order.attempt.task.job, order.secrets);
  for (const auto& [path, limit] : files) {
    Result<std::string> text = co_await reads_.read(path, limit, stop);
    texts.emplace(path, std::move(text));
  }
  co_return texts;
}

Async<void> Preparer::keep_plan(const model::StartOrder& order) {
  const output::MetricPlans::Key key = plan_key(order.attempt.task);
  if (plans_.find(key, order.metrics, order.objectives)) co_return {};
  Result<output::MetricPlanPtr> kept = co_await plan_files_->run([&home = context_.home, &key,
                                                                  &order] {
    return output::keep_metric_plan(home, key.first, key.second, order.metrics, order.objectives);
  });
  plans_.remember(key, CO_TRY(std::move(kept)));
  co_return {};
}

Async<void> Preparer::keep_begin(const model::StartOrder& order, async::StopToken stop) {
  const output::MetricPlanPtr plan = keeps_plan(order) ? plan_of(order.attempt.task) : nullptr;
  // The task's own files may lie on a dead mount, and those of the home do not.
  const auto look = [home = context_.home, attempt = order.attempt, plan] {
    return Result(output::look_at_metrics(home, attempt, plan));
  };
  const std::string folder = output::task_folder(context_.home, order.attempt.task);
  Result<output::MetricsBegin> looked =
      co_await begin_reads_.run<output::MetricsBegin>(folder, look);
  while (!looked.ok() && looked.error().code == Errc::kFull) {  // So many begin again at once.
    Result<void> slept = co_await loop_.sleep(kTurnAgainAfter, stop);
    CO_TRY(std::move(slept));
    looked = co_await begin_reads_.run<output::MetricsBegin>(folder, look);
  }
  const output::MetricsBegin begin = CO_TRY(std::move(looked));
  CO_TRY(stop.check());
  Result<void> kept = co_await plan_files_->run([&home = context_.home, &order, &begin] {
    return output::keep_metrics_begin(home, order.attempt.task, begin);
  });
  co_return kept;
}

Async<void> Preparer::copy(CheckpointCopy copy, async::StopToken stop) {
  for (int tries = 1;; ++tries) {
    Result<void> made = co_await copies_->run([copy] { return copy_checkpoint(copy); });
    const bool again =
        !made.ok() && (made.error().code == Errc::kUnavailable || made.error().code == Errc::kFull);
    if (!again || tries == kCopiesMax) co_return made;
    Result<void> slept = co_await loop_.sleep(kCopyAgainAfter, stop);
    CO_TRY(std::move(slept));
  }
}

// Of an attempt that has not begun the index holds nothing yet, and may hold a million others.
// Where it stands still, whoever reads it later waits for it.
Async<std::int64_t> Preparer::output_begin(JobId job) {
  const std::string logs = output::logs_folder(context_.home, job);
  Result<std::int64_t> records = co_await begin_reads_.run<std::int64_t>(
      logs, [logs] { return Result<std::int64_t>(output::IndexFile(logs).records()); },
      Reach::kFolder);
  co_return records.ok() ? *records : 0;
}

Async<void> Preparer::load_plans(std::vector<model::TaskRef> tasks) {
  std::set<output::MetricPlans::Key> unknown;
  for (const model::TaskRef& task : tasks) {
    if (!plans_.find(plan_key(task))) unknown.insert(plan_key(task));
  }
  if (unknown.empty()) co_return {};
  Result<std::vector<output::MetricPlanPtr>> loaded =
      co_await plan_files_->run([&home = context_.home, &unknown] {
        std::vector<output::MetricPlanPtr> plans;
        plans.reserve(unknown.size());
        for (const auto& [job, step] : unknown)
          plans.push_back(output::load_metric_plan(home, job, step));
        return plans;
      });
  std::vector<output::MetricPlanPtr> plans = CO_TRY(std::move(loaded));
  auto plan = plans.begin();
  for (const output::MetricPlans::Key& key : unknown) {
    if (*plan) plans_.remember(key, std::move(*plan));
    ++plan;
  }
  co_return {};
}

output::MetricPlanPtr Preparer::plan_of(const model::TaskRef& task) const {
  return plans_.find(plan_key(task));
}

}  // namespace runnel::agent
