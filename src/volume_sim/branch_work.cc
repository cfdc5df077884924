#include "volume_sim/branch_work.h"

#include <string>
#include <utility>
#include <vector>

#include "volume/branch_session.h"
#include "volume/chunk_read.h"
#include "volume/kept_session.h"
#include "volume/merge.h"
#include "volume/testing/branch_writer.h"
#include "volume_sim/expected.h"
#include "volume_sim/work.h"

namespace runnel::volume_sim {
namespace {

using Files = BranchPromises::Files;

constexpr std::uint64_t kFilesOfTask = 3;
constexpr std::uint64_t kContentsOfTasks =
    6;  // So few that attempts take over chunks of one another.

std::uint64_t draw(Process& process, std::uint64_t count) { return process.dice().next() % count; }

std::string content(std::uint64_t number) {
  std::string text;
  for (std::uint64_t word = 0; word <= number * 30; ++word) text += std::to_string(word * number);
  return text;
}

// The files of a task, each in the task's folder; none without that.
Async<Files> files_of(volume::Volume& volume, volume::Snapshot& snapshot, std::string task) {
  Files files;
  const Result<volume::Snapshot::Found> folder = co_await snapshot.at(task);
  if (!folder.ok() && folder.error().code == Errc::kNotFound && folder.error().value == task) {
    co_return files;
  }
  CO_TRY(Result<volume::Snapshot::Found>(folder));
  for (const auto& entry : CO_TRY(co_await snapshot.list(folder->inode, "", 1'000))) {
    const volume::Node node = CO_TRY(co_await snapshot.node(entry.what.inode));
    auto extents = CO_TRY(co_await snapshot.extents(entry.what.inode, node));
    files[task + "/" + entry.name] = CO_TRY(co_await volume::read_bytes(
        volume.ranges(), volume::in_pieces(std::move(extents)), 0, node.size, {}));
  }
  co_return files;
}

// Of the process's attempt.
class Attempt {
 public:
  Attempt(Process& process, Oracle& oracle, volume::Volume& volume, std::string task,
          std::int64_t term)
      : process_(process), oracle_(oracle), volume_(volume), task_(std::move(task)), term_(term) {}

  Async<void> run(async::StopToken stop) {
    volume::Snapshot begun = CO_TRY(co_await volume::snapshot_of_branch(volume_));
    files_ = CO_TRY(co_await files_of(volume_, begun, task_));
    found(oracle_.branches().begun(task_, term_, files_));
    const std::uint64_t publishes = 1 + draw(process_, 4);
    for (std::uint64_t count = 1; count <= publishes; ++count) {
      const auto pause = static_cast<std::int64_t>(draw(process_, 20'000));
      CO_TRY(co_await process_.loop().sleep(Duration::millis(pause), stop));
      const bool is_sealed = count == publishes && draw(process_, 3) > 0;
      CO_TRY(co_await publish(is_sealed));
    }
    co_return {};
  }

 private:
  Async<void> publish(bool is_sealed) {
    Files written;
    for (std::uint64_t count = 1 + draw(process_, 2); count > 0; --count) {
      const std::string name = task_ + "/f" + std::to_string(draw(process_, kFilesOfTask));
      written[name] = content(draw(process_, kContentsOfTasks));
    }
    for (const auto& [name, bytes] : written) files_[name] = bytes;
    oracle_.branches().tries(task_, term_, files_);
    CO_TRY(co_await volume::testing::publish_contents(process_.loop(), volume_, written,
                                                      volume::Edit::folder(), is_sealed));
    found(oracle_.branches().published(task_, term_, files_));
    if (is_sealed) oracle_.branches().sealed(task_, term_);
    co_return {};
  }
  void found(const std::string& broken) {
    if (!broken.empty()) oracle_.found_wrong("9: " + broken);
  }

  Process& process_;
  Oracle& oracle_;
  volume::Volume& volume_;
  const std::string task_;
  const std::int64_t term_;
  Files files_;
};

// Whether the version has what was published of each; it may be gone by now.
Async<void> check_merged(volume::Volume& volume, Oracle& oracle, std::string version,
                         std::vector<std::string> names) {
  volume::Snapshot made = CO_TRY(co_await volume.snapshot_by_id(std::move(version)));
  for (const std::string& name : names) {
    const Files files = CO_TRY(co_await files_of(volume, made, name));
    const std::string broken = oracle.branches().merged(name, files);
    if (!broken.empty()) oracle.found_wrong("9: " + broken);
  }
  co_return {};
}

}  // namespace

Async<void> write_branch(Process& process, Oracle& oracle) {
  oracle.may_end_branches(process.number());
  volume::Volume volume = CO_TRY(co_await open_own(process, oracle, "attempt"));
  const std::string task = oracle.branches().next_task(draw(process, BranchPromises::kTasks));
  const std::int64_t term = oracle.branches().next_term(task);
  const Result<void> begun = co_await volume::begin_branch(volume, {.name = task, .term = term});
  tell(oracle, "begin of a branch", begun);
  CO_TRY(Result<void>(begun));
  Attempt attempt(process, oracle, volume, task, term);
  const Result<void> done = co_await volume::with_session<void>(
      process.loop(), volume, [] { return std::set<std::string>(); },
      [&attempt](async::StopToken stop) { return attempt.run(std::move(stop)); }, {});
  tell(oracle, "attempt", done);
  co_return {};
}

std::vector<std::string> names_of(std::int64_t step) {
  std::vector<std::string> names;
  names.reserve(BranchPromises::kTasks);
  for (std::uint64_t task = 0; task < BranchPromises::kTasks; ++task) {
    names.push_back(BranchPromises::task_of(step, task));
  }
  return names;
}

Async<void> merge_step(Process& process, Oracle& oracle, std::int64_t step) {
  volume::Volume volume = CO_TRY(co_await open_own(process, oracle, "merge"));
  std::vector<std::string> names = names_of(step);
  const Result<std::string> merged = co_await volume::merge_branches(
      process.loop(), volume, names, {"step " + std::to_string(step), ""}, {});
  // Another merger of the step was quicker, and has removed its branches.
  const bool is_late = !merged.ok() && merged.error().code == Errc::kNotFound &&
                       oracle.branches().merged_steps().contains(step);
  if (!is_late) tell(oracle, "merge", merged);
  CO_TRY(Result<std::string>(merged));
  oracle.branches().told_merged(step);
  volume::Manifest made;
  made.uuid = volume.head().uuid;
  made.version = *merged;
  oracle.told_published(made);
  co_return co_await check_merged(volume, oracle, *merged, std::move(names));
}

// Branches that control knows to be merged.
Async<void> remove_told(Process& process, Oracle& oracle) {
  volume::Volume volume = CO_TRY(co_await open_own(process, oracle, "removal of branches"));
  for (const std::int64_t step : oracle.branches().merged_steps()) {
    tell(oracle, "removal of branches", co_await volume::remove_merged(volume, names_of(step)));
  }
  co_return {};
}

Async<void> merge_done(Process& process, Oracle& oracle) {
  oracle.may_end_branches(process.number());
  for (const std::int64_t step : oracle.branches().steps_to_merge()) {
    CO_TRY(co_await merge_step(process, oracle, step));
  }
  co_return co_await remove_told(process, oracle);
}

Async<void> remove_branches(Process& process, Oracle& oracle) {
  oracle.may_end_branches(process.number());
  volume::Volume volume = CO_TRY(co_await open_own(process, oracle, "removal of branches"));
  for (volume::SeenBranch& branch : CO_TRY(co_await volume::see_branches(volume))) {
    tell(oracle, "removal of a branch", co_await volume::remove_branch(volume, std::move(branch)));
  }
  co_return {};
}

}  // namespace runnel::volume_sim
