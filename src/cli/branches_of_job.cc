#include "cli/branches_of_job.h"

#include <set>
#include <utility>

#include "base/check.h"
#include "cli/print.h"
#include "object/store_url.h"
#include "volume/branch_session.h"

namespace runnel::cli {
namespace {

using Written = std::pair<std::string, std::string>;  // A volume and its store.

std::set<Written> written_by(const model::JobSpec& spec) {
  std::set<Written> written;
  for (const model::StepSpec& step : spec.steps) {
    for (const model::VolumeUse& use : step.volumes) {
      if (use.is_written()) written.emplace(use.volume, use.store);
    }
  }
  return written;
}

Result<void> remove_those_of(const std::string& job, const Written& written) {
  const auto& [name, store] = written;
  const VolumeClientPtr client = TRY(VolumeClient::open(TRY(object::parse_store_url(store))));
  volume::Volume opened = TRY(client->volume(name));
  return remove_branches(*client, opened, job + ".");
}

}  // namespace

Result<void> remove_branches(VolumeClient& client, volume::Volume& volume,
                             const std::string& begins_with) {
  CHECK(begins_with.size() > 1, "the branches of all jobs would go");
  for (volume::SeenBranch& branch : TRY(client.run(volume::see_branches(volume)))) {
    if (!branch.name().starts_with(begins_with)) continue;
    (void)TRY(client.run(volume::remove_branch(volume, std::move(branch))));
  }
  return {};
}

void remove_branches_of(const std::string& job, const model::JobSpec& spec) {
  for (const Written& written : written_by(spec)) {
    const Result<void> removed = remove_those_of(job, written);
    const bool is_gone = !removed.ok() && removed.error().code == Errc::kNotFound;
    if (removed.ok() || is_gone) continue;
    say("runnel: what tasks of " + job + " wrote to volume " + written.first +
        " and nobody merged stays: " + removed.error().to_string() +
        "; later: runnel volume branches " + written.first + " --remove BRANCH");
  }
}

}  // namespace runnel::cli
