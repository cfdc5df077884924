#include "control/leftovers.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "control/job_id.h"

namespace runnel::control {
namespace {

// The log's thread also commits: it is asked about so many at a time.
constexpr std::size_t kAskedAtOnce = 256;

std::vector<JobId> not_in_state(const brain::State& state, const std::vector<JobId>& jobs) {
  std::vector<JobId> absent;
  std::copy_if(jobs.begin(), jobs.end(), std::back_inserter(absent),
               [&](const JobId& job) { return !state.jobs.contains(job); });
  return absent;
}

// When the oldest decision that is kept was made; nothing while there is none.
Result<std::optional<Time>> beginning_of(store::EventLog& log) {
  const std::vector<store::Batch> first = TRY(log.read(log.base().last, 1));
  if (first.empty()) return std::optional<Time>();
  return std::optional(first.front().now);
}

Result<std::vector<JobId>> not_in_archive(store::EventLog& log, const std::vector<JobId>& jobs) {
  std::vector<JobId> absent;
  const std::optional<Time> beginning = TRY(beginning_of(log));
  if (!beginning) return absent;
  for (const JobId& job : jobs) {
    // The time of what is no id is zero: before any log.
    if (time_of(job) < *beginning) continue;
    const std::vector<std::string> keys = TRY(log.archive_keys(job.str(), 1));
    if (keys.empty()) absent.push_back(job);
  }
  return absent;
}

}  // namespace

// The state first, and the archive once all that the state rests on is durable: a job that has
// ended moves from the one to the other.
Async<std::vector<JobId>> leftovers(Controller* control, std::vector<JobId> on_node) {
  Result<std::vector<JobId>> asked = co_await control->answer<std::vector<JobId>>(
      [&on_node](const LogWriter& writer) -> Result<std::vector<JobId>> {
        return not_in_state(writer.state(), on_node);
      });
  const std::vector<JobId> absent = CO_TRY(std::move(asked));
  std::vector<JobId> unknown;
  for (std::size_t at = 0; at < absent.size(); at += kAskedAtOnce) {
    const auto first = absent.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t count = std::min(kAskedAtOnce, absent.size() - at);
    const std::vector<JobId> some(first, first + static_cast<std::ptrdiff_t>(count));
    Result<std::vector<JobId>> looked = co_await control->writer().read<std::vector<JobId>>(
        [&some](store::EventLog& log) { return not_in_archive(log, some); });
    for (JobId& job : CO_TRY(std::move(looked))) unknown.push_back(std::move(job));
  }
  co_return unknown;
}

}  // namespace runnel::control
