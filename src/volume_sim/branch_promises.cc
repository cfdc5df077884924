#include "volume_sim/branch_promises.h"

#include <algorithm>

namespace runnel::volume_sim {

std::string BranchPromises::task_of(std::int64_t step, std::uint64_t task) {
  return "step" + std::to_string(step) + ".task" + std::to_string(task);
}

std::string BranchPromises::next_task(std::uint64_t task) const {
  for (std::int64_t step = 1;; ++step) {
    std::string name = task_of(step, task);
    if (!is_done(name)) return name;
  }
}

std::vector<std::int64_t> BranchPromises::steps_to_merge() const {
  std::vector<std::int64_t> steps;
  for (std::int64_t step = 1;; ++step) {
    std::uint64_t done = 0;
    for (std::uint64_t task = 0; task < kTasks; ++task)
      done += is_done(task_of(step, task)) ? 1 : 0;
    if (done == 0) return steps;
    if (done == kTasks && !told_merged_.contains(step)) steps.push_back(step);
  }
}

void BranchPromises::sealed(const std::string& name, std::int64_t term) {
  if (term == branches_[name].terms) done_.insert(name);
}

std::size_t BranchPromises::find(const Branch& branch, const Files& files, std::size_t first) {
  for (std::size_t at = branch.tried.size(); at-- > first;) {
    if (branch.tried[at].files == files) return at;
  }
  return branch.tried.size();
}

std::string BranchPromises::begun(const std::string& name, std::int64_t term, const Files& files) {
  Branch& branch = branches_[name];
  ++attempts_;
  if (is_done(name)) return "";  // It was believed dead, and nobody will merge what it writes.
  if (branch.tried.empty()) {
    branch.tried.push_back({term, files});
    branch.newest = std::max(branch.newest, term);
    return "";
  }
  if (term < branch.newest) return "";  // It hears of it late.
  const std::size_t found = find(branch, files, branch.told);
  if (found == branch.tried.size()) return "branch " + name + " begins without what was published";
  branch.newest = term;
  branch.told = branch.over = found;
  return "";
}

void BranchPromises::tries(const std::string& name, std::int64_t term, const Files& files) {
  branches_[name].tried.push_back({term, files});
}

std::string BranchPromises::published(const std::string& name, std::int64_t term,
                                      const Files& files) {
  Branch& branch = branches_[name];
  for (std::size_t at = branch.tried.size(); at-- > 0;) {
    if (branch.tried[at].term != term || branch.tried[at].files != files) continue;
    const bool is_late = term < branch.newest && at > branch.over && !is_done(name);
    if (is_late) return "branch " + name + " is published beside its next attempt";
    branch.told = std::max(branch.told, at);
    return "";
  }
  return "branch " + name + " has published what nobody has tried";
}

std::string BranchPromises::merged(const std::string& name, const Files& files) {
  Branch& branch = branches_[name];
  ++merges_;
  if (branch.tried.empty()) return "";
  const bool is_there = find(branch, files, branch.told) != branch.tried.size();
  if (!is_there) return "a merge of branch " + name + " lacks what was published";
  return "";
}

}  // namespace runnel::volume_sim
