#include "volume_sim/branch_truth.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "base/check.h"
#include "volume/snapshot.h"

namespace runnel::volume_sim {

using writing::Branch;
using writing::Sequence;
using writing::testing::FileModel;

namespace {

constexpr std::size_t kStatesMax = 200;

}  // namespace

BranchTruth::BranchTruth(std::uint64_t seed)
    : random_(seed, writing::testing::RandomChanges::Staging::kNone) {
  versions_[""][volume::kRootInode].kind = volume::NodeKind::kFolder;
  states_[0] = std::make_shared<FileModel>();
}

bool BranchTruth::change(Branch& branch) {
  const auto base = versions_.find(*branch.overlay().base());
  CHECK(base != versions_.end(), "a branch is over a version that nobody has published");
  const State before = states_.rbegin()->second;
  const auto after = std::make_shared<FileModel>(*before);
  std::vector<writing::Change> changes = random_.next(*after, branch.overlay(), base->second);
  for (std::size_t at = 0; at < changes.size(); ++at) {
    const bool is_last = at + 1 == changes.size();
    const auto logged = branch.change({.request = {}, .change = std::move(changes[at])});
    if (!logged.ok()) {
      CHECK(at == 0, "a log fails in the midst of a turn");
      return false;
    }
    states_[logged->sequence] = is_last ? after : before;
  }
  changed_ += changes.empty() ? 0 : 1;
  if (states_.size() > kStatesMax) prune(branch);
  return true;
}

void BranchTruth::is_written(Sequence sequence) { written_ = std::max(written_, sequence); }

void BranchTruth::is_durable(Sequence sequence) {
  durable_ = std::max(durable_, sequence);
  is_written(sequence);
}

void BranchTruth::has_begun_anew(const Branch& branch) {
  look(branch);
  is_beginning_anew_ = false;
  states_.emplace(branch.last(), states_.rbegin()->second);
}

void BranchTruth::look(const Branch& branch) {
  const auto& frozen = branch.overlay().frozen();
  if (frozen) {
    barrier_ = frozen->number;
    if (!frozen->publishing.empty()) versions_[frozen->publishing] = at(barrier_).version();
    return;
  }
  const Sequence barrier = std::exchange(barrier_, 0);
  if (barrier != 0 && !is_beginning_anew_) {
    versions_[*branch.overlay().base()] = at(barrier).version();
  }
}

const FileModel& BranchTruth::at(Sequence sequence) const {
  const auto after = states_.upper_bound(sequence);
  CHECK(after != states_.begin(), "a state was forgotten that is asked for");
  return *std::prev(after)->second;
}

// What may still be asked for stays.
void BranchTruth::prune(const Branch& branch) {
  Sequence from = durable_;
  if (branch.overlay().frozen()) from = std::min(from, branch.overlay().frozen()->number);
  if (barrier_ != 0) from = std::min(from, barrier_);  // What it has become is looked at later.
  const auto first = std::prev(states_.upper_bound(from));
  states_.erase(states_.begin(), first);
}

std::string BranchTruth::opened(const Branch& branch, Loss loss) {
  const Sequence last = branch.last();
  const Sequence promised = loss == Loss::kPower ? durable_ : written_;
  if (last < promised) {
    return "a log ends with record " + std::to_string(last) + " where " + std::to_string(promised) +
           " was promised";
  }
  const auto lost = states_.upper_bound(last);
  lost_ += std::distance(lost, states_.end());
  states_.erase(lost, states_.end());
  written_ = durable_ = last;  // A replay syncs what it gives.
  is_beginning_anew_ = false;
  barrier_ = 0;
  look(branch);
  return "";
}

}  // namespace runnel::volume_sim
