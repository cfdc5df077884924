#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "volume/processes.h"

namespace runnel::volume_sim {

// The processes of the simulation that have not ended, wherever they run.
class Machines {
 public:
  void begins(std::uint64_t process) {
    const bool is_new = running_.insert(process).second;
    CHECK(is_new, "two processes of one number");
  }
  void ends(std::uint64_t process) { running_.erase(process); }
  bool runs(std::uint64_t process) const { return running_.contains(process); }

 private:
  std::set<std::uint64_t> running_;
};

// What one process sees of others: who runs on its machine, and nothing of another one.
//
// Lifetime: `machines` outlives it.
class SeenProcesses final : public volume::Processes {
 public:
  SeenProcesses(const Machines& machines, std::string machine, std::uint64_t process)
      : machines_(machines), machine_(std::move(machine)), process_(process) {}

  volume::SessionRecord this_one(std::string kind) const override {
    volume::SessionRecord record;
    record.kind = std::move(kind);
    record.host = machine_;
    record.boot = machine_ + "'s";
    record.pid = static_cast<std::int64_t>(process_);
    record.pid_namespace = 1;
    return record;
  }
  bool has_ended(const volume::SessionRecord& record) const override {
    CHECK(record.pid > 0, "a session of no process");
    return record.host == machine_ && !machines_.runs(static_cast<std::uint64_t>(record.pid));
  }

 private:
  const Machines& machines_;
  const std::string machine_;
  const std::uint64_t process_;
};

}  // namespace runnel::volume_sim
