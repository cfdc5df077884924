#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/ids.h"

namespace runnel::sched {

// The number of a host where some are kept apart from others that are there already.
inline constexpr std::int64_t kNobody = -1;
// The number that one must have to join those with these numbers.
std::int64_t shared_number(const std::set<std::int64_t>& numbers);

// The hosts that share a runner and are not idle, by the number that one must have to join what is
// there.
//
// Contract: one that stands on another tells what that one does until told otherwise, and leaves
//           it as it is.
// Threads:  a value type; borrows what it stands on.
class Company {
 public:
  Company() = default;
  static Company over(const Company& base);

  // `places` are there, each of which gives back once.
  void hold(const NodeId& id, const std::string& runner, std::int64_t apart, std::int64_t places);
  void forget(const NodeId& id);
  void give_back(const NodeId& id);

  // The number that one must have to be with the runner; nothing when nobody is there.
  std::optional<std::int64_t> number_of(const std::string& runner) const;
  // Grows whenever some runner's number may have changed.
  std::int64_t changes() const { return changes_; }

 private:
  struct Busy {
    std::string runner;
    std::int64_t apart = 0;
    std::int64_t places = 0;  // Places held on a host that takes nothing; else 0.
  };
  using Numbers = std::map<std::int64_t, std::int64_t>;  // How many hosts, by number.

  std::optional<Busy> find(const NodeId& id) const;
  const Numbers* numbers_of(const std::string& runner) const;
  void count(const std::string& runner, std::int64_t apart, std::int64_t by);

  const Company* base_ = nullptr;
  std::map<NodeId, std::optional<Busy>> busy_;  // Those that differ from the base.
  std::map<std::string, Numbers> runners_;      // The same.
  std::int64_t changes_ = 0;
};

}  // namespace runnel::sched
