#include "control/leftovers.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/append.h"
#include "control/archive.h"
#include "control/job_id.h"

namespace runnel::control {
namespace {

// The thread also answers who asks for a page: it is asked about so many at a time.
constexpr std::size_t kAskedAtOnce = 256;

std::vector<JobId> not_in_state(const brain::State& state, const std::vector<JobId>& jobs) {
  std::vector<JobId> absent;
  std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(absent),
               [&](const JobId& job) { return !state.jobs.contains(job); });
  return absent;
}

Result<void> sort_absent(store::LogReader& log, const JobId& job, Leftovers& into) {
  // The time of what is no id is zero.
  if (time_of(job) == Time()) return {};
  const std::vector<std::string> records = TRY(log.archive_keys(job.str(), 1));
  if (!records.empty()) return {};
  const std::vector<std::string> deletions = TRY(log.archive_keys(deletion_key(job), 1));
  (deletions.empty() ? into.unknown : into.deleted).push_back(job);
  return {};
}

Result<Leftovers> not_in_archive(store::LogReader& log, const std::vector<JobId>& jobs) {
  Leftovers found;
  for (const JobId& job : jobs) TRY(sort_absent(log, job, found));
  return found;
}

}  // namespace

// One that came back from the archive since the state was asked is in neither list.
void drop_restored(const brain::State& state, std::vector<JobId>& jobs) {
  std::erase_if(jobs, [&](const JobId& job) { return state.jobs.contains(job); });
}

// The state first, and the archive once all that the state rests on is durable: a job that has
// ended moves from the one to the other. Then the state again: one that is retried moves back.
Async<Leftovers> leftovers(Controller* control, std::vector<JobId> on_node) {
  const std::vector<JobId> absent = CO_TRY(co_await control->answer<std::vector<JobId>>(
      [&on_node](const LogWriter& writer) -> Result<std::vector<JobId>> {
        return not_in_state(writer.state(), on_node);
      }));
  Leftovers found;
  for (std::size_t at = 0; at < absent.size(); at += kAskedAtOnce) {
    const auto first = absent.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t count = std::min(kAskedAtOnce, absent.size() - at);
    const std::vector<JobId> some(first, first + static_cast<std::ptrdiff_t>(count));
    Leftovers part = CO_TRY(co_await control->writer().read<Leftovers>(
        [&some](store::LogReader& log) { return not_in_archive(log, some); }));
    drop_restored(control->state(), part.unknown);
    append_all(found.deleted, std::move(part.deleted));
    append_all(found.unknown, std::move(part.unknown));
  }
  co_return found;
}

Result<Leftovers> leftovers_in(store::EventLog& log, const std::vector<JobId>& jobs) {
  const Recovered recovered = TRY(recover(log));
  return not_in_archive(log, not_in_state(recovered.brain.state(), jobs));
}

}  // namespace runnel::control
