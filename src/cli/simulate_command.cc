#include <string>

#include "base/check.h"
#include "brain/decide_again.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/remove_tree.h"
#include "sim/campaign.h"
#include "store/sqlite/sqlite_log.h"

namespace runnel::cli {
namespace {

constexpr std::int64_t kBatchesPerRead = 1'000;

struct Verified {
  std::int64_t batches = 0;
  std::int64_t events = 0;
};

Result<Verified> verify_log(store::EventLog& log) {
  brain::Brain brain;
  Verified verified;
  BatchSeq after;
  for (;;) {
    const std::vector<store::Batch> batches = TRY(log.read(after, kBatchesPerRead));
    if (batches.empty()) return verified;
    for (const store::Batch& batch : batches) {
      if (TRY(brain::decide_again(brain, batch.input, batch.now)) != batch.events) {
        return Error(Errc::kCorrupt, "batch " + std::to_string(batch.seq.value()) +
                                         " is decided otherwise by this build");
      }
      ++verified.batches;
      verified.events += batch.event_count;
      after = batch.seq;
    }
  }
}

// Works on a copy, so that a running daemon is not disturbed.
Result<Verified> verify_home(const std::string& root) {
  const home::Home home = TRY(home::find_home(root));
  if (!env::exists(home.event_log())) {
    return Error(Errc::kInvalid, "there is no home with a log in " + home.root)
        .with_field("--verify")
        .with_value(root)
        .with_hint("name the folder that `runnel home` shows");
  }
  const std::string folder = TRY(env::make_temporary_directory("runnel-verify-"));
  Result<Verified> verified = [&]() -> Result<Verified> {
    for (const char* suffix : {"", "-wal"}) {
      const std::string from = home.event_log() + suffix;
      if (env::exists(from)) TRY(env::copy_file(from, folder + "/log" + suffix));
    }
    auto log = TRY(store::open_sqlite_log(folder + "/log", env::real_clock()));
    return verify_log(*log);
  }();
  TRY(env::remove_tree(folder));
  return verified;
}

void print_verified(const Arguments& arguments, const Verified& verified) {
  if (is_document(arguments.output)) {
    json::Value out = json::Value::object();
    out.set("batches", json::Value::integer(verified.batches));
    out.set("events", json::Value::integer(verified.events));
    put(document(out, arguments.output));
    return;
  }
  put(std::to_string(verified.batches) + " batches with " + std::to_string(verified.events) +
      " events were decided again, all to the same\n");
}

std::string violation_text(std::int64_t seed, const sim::Verdict& verdict) {
  return sim::report({static_cast<std::uint64_t>(seed), verdict.violation});
}

json::Value schedule_document(std::int64_t seed, const sim::Scenario& scenario,
                              const sim::Verdict& verdict) {
  json::Value out = json::Value::object();
  out.set("seed", json::Value::integer(seed));
  out.set("schedule", json::Value::text(sim::describe(scenario)));
  out.set("events", json::Value::integer(verdict.events));
  out.set("log_hash", json::Value::text(verdict.log_hash));
  if (verdict.violation.empty()) return out;
  out.set("violation", json::Value::text(violation_text(seed, verdict)));
  return out;
}

int one_schedule(const Arguments& arguments, std::int64_t seed) {
  const sim::Scenario scenario = sim::scenario_of(static_cast<std::uint64_t>(seed));
  const sim::Verdict verdict = sim::run(scenario, sim::Depth::kAll);
  const int code = verdict.violation.empty() ? 0 : 1;
  if (is_document(arguments.output)) {
    put(document(schedule_document(seed, scenario, verdict), arguments.output));
    return code;
  }
  put(sim::describe(scenario));
  put("events " + std::to_string(verdict.events) + ", log hash " + verdict.log_hash + "\n");
  if (code != 0) put(violation_text(seed, verdict) + "\n");
  return code;
}

json::Value campaign_document(const sim::Campaign& campaign) {
  json::Value::List violations;
  for (const sim::Failure& failure : campaign.failures) {
    violations.push_back(json::Value::text(sim::report(failure)));
  }
  json::Value out = json::Value::object();
  out.set("schedules", json::Value::integer(campaign.schedules));
  out.set("events", json::Value::integer(campaign.events));
  out.set("violations", json::Value::list(std::move(violations)));
  return out;
}

int campaign(const Arguments& arguments) {
  CHECK(arguments.schedules > 0, "a campaign without schedules passed the parser");
  sim::Campaign campaign;
  campaign.add_in_child(1, arguments.schedules);
  if (is_document(arguments.output)) {
    put(document(campaign_document(campaign), arguments.output));
    return campaign.failures.empty() ? 0 : 1;
  }
  put(sim::coverage_table(campaign.coverage));
  put(std::to_string(campaign.schedules) + " schedules, " + std::to_string(campaign.events) +
      " events, " + std::to_string(campaign.failures.size()) + " violations\n");
  for (const sim::Failure& failure : campaign.failures) put(sim::report(failure) + "\n");
  return campaign.failures.empty() ? 0 : 1;
}

}  // namespace

int simulate(const Arguments& arguments, const home::Home&) {
  if (!arguments.verify.empty()) {
    const Result<Verified> verified = verify_home(arguments.verify);
    if (!verified.ok()) return fail(verified.error());
    print_verified(arguments, *verified);
    return 0;
  }
  if (arguments.seed.has_value()) return one_schedule(arguments, *arguments.seed);
  return campaign(arguments);
}

}  // namespace runnel::cli
