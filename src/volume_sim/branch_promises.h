#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace runnel::volume_sim {

// What writers of branches were told, and see: a next attempt goes on from what the one before has
// published last, and nothing that was told to be published is lost, or told once the next one has
// begun.
//
// Contract: each function answers with what is broken, or nothing.
class BranchPromises {
 public:
  // The files that a writer writes, with their contents.
  using Files = std::map<std::string, std::string>;

  // --- As control has it: a task is done once its last attempt was told that its branch is sealed,
  // and has no further one. A step of kTasks tasks is merged once all of them are done.
  static constexpr std::uint64_t kTasks = 3;
  static std::string task_of(std::int64_t step, std::uint64_t task);
  // Of the first step in which that one is not done.
  std::string next_task(std::uint64_t task) const;
  void sealed(const std::string& branch, std::int64_t term);
  bool is_done(const std::string& branch) const { return done_.contains(branch); }
  // Whose tasks are done, and of which nobody was told that it is merged.
  std::vector<std::int64_t> steps_to_merge() const;
  void told_merged(std::int64_t step) { told_merged_.insert(step); }
  const std::set<std::int64_t>& merged_steps() const { return told_merged_; }

  // --- What writers and mergers see.
  // Of the next attempt.
  std::int64_t next_term(const std::string& branch) { return ++branches_[branch].terms; }
  // It sees these files.
  std::string begun(const std::string& branch, std::int64_t term, const Files& files);
  // It is about to publish them, and was told that they are.
  void tries(const std::string& branch, std::int64_t term, const Files& files);
  std::string published(const std::string& branch, std::int64_t term, const Files& files);
  // A version has these files of the branch, by a merge of it, which has ended.
  std::string merged(const std::string& branch, const Files& files);

  std::int64_t attempts() const { return attempts_; }  // That have begun,
  std::int64_t merges() const { return merges_; }      // and branches that were merged.

 private:
  struct State {
    std::int64_t term = 0;
    Files files;
  };
  struct Branch {
    std::int64_t terms = 0;
    std::vector<State> tried;  // In order; the first is what it began over.
    std::size_t told = 0;      // Which of them is there, or a later one.
    std::int64_t newest = 0;   // The term that has begun last,
    std::size_t over = 0;      // and which of them it has begun over.
  };
  // The last of them that has these files, from `first` on; none: tried.size().
  static std::size_t find(const Branch& branch, const Files& files, std::size_t first);

  std::map<std::string, Branch> branches_;
  std::set<std::string> done_;
  std::set<std::int64_t> told_merged_;
  std::int64_t attempts_ = 0;
  std::int64_t merges_ = 0;
};

}  // namespace runnel::volume_sim
