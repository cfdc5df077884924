#include "agent/phases/merge.h"

#include "base/check.h"
#include "env/files.h"
#include "model/variables.h"

namespace runnel::agent {
namespace {

// A line for each branch.
std::string branch_lines(const model::MergeOrder& merge) {
  std::string names;
  for (const auto& [begin, end] : merge.tasks) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::string branch = model::branch_of_task(merge.branches, TaskIndex(task));
      for (std::int32_t rank = 0; rank < merge.world_size; ++rank) {
        names += model::branch_of_rank(branch, rank, merge.world_size) + "\n";
      }
    }
  }
  return names;
}

}  // namespace

std::vector<model::StartOrder> MergePhase::split(const model::StartOrder& order) const {
  std::vector<model::StartOrder> orders;
  for (const model::VolumeUse& use : order.volumes) {
    orders.push_back(order);
    orders.back().volumes = {use};
  }
  return orders;
}

std::string MergePhase::names_file(const model::StartOrder& order) const {
  CHECK(order.merge.has_value(), "an order that publishes nothing is passed to who merges");
  CHECK(order.volumes.size() == 1, "each volume has a merge of its own");
  return folder_ + "/" + order.merge->branches + "." +
         std::to_string(order.attempt.attempt.value()) + "." + order.volumes.front().name;
}

std::string MergePhase::waits_for(const model::StartOrder& order) const {
  const model::VolumeUse& use = order.volumes.front();
  return "the merge of what was written to volume " + use.volume + " of " + use.store;
}

Result<Readiness> MergePhase::prepare(const NodeId& node, const model::StartOrder& order,
                                      Readiness so_far, PathTrail& trail) const {
  const model::VolumeUse& use = order.volumes.front();
  const std::string names = branch_lines(*order.merge);
  if (names.empty()) return so_far;
  const std::string file = names_file(order);
  trail.follow(file);
  TRY(env::make_directories(folder_, env::Access::kOwner));
  TRY(env::write_file_atomically(file, names));
  const std::size_t dot = order.merge->branches.find('.');
  const std::string message = "job " + order.merge->branches.substr(0, dot) + ", step " +
                              order.merge->branches.substr(dot + 1);
  Result<json::Value> merged =
      command_.run({"merge", use.volume, "--store", use.store, "-m", message, "--once",
                    order.merge->branches, "--branches-from", file},
                   TRY(command_.environment_for(node, order)), kMergesWithin);
  TRY(env::remove_file(file));
  if (merged.ok()) {
    const json::Value* const version = merged->find("version");
    if (version == nullptr) return Error(Errc::kIo, "runnel volume merge names no version");
    so_far.published.emplace_back(use.name, version->as_text());
    return so_far;
  }
  Error error = std::move(merged).error();
  // What two have written at a path stays so; others who work on the volume are done some time.
  const bool is_final = (error.code == Errc::kConflict && error.field == "path") ||
                        error.code == Errc::kDenied || error.code == Errc::kInvalid;
  error.code = is_final ? Errc::kInvalid : Errc::kIo;
  if (error.field == "path") {
    error.hint =
        "the branches stay: change one of them and try again: runnel volume mount -d "
        "--branch BRANCH " +
        use.volume + " DIR; runnel volume umount DIR; runnel retry " + order.attempt.task.job.str();
  }
  error.message = "what was written to volume " + use.volume + " cannot be published" +
                  (error.code == Errc::kInvalid ? ": " : " now: ") + error.message;
  return std::move(error).with_field("volumes." + use.name);
}

}  // namespace runnel::agent
