#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "volume/processes.h"

namespace runnel::volume::testing {

// Processes of this machine, by what their sessions say of them.
class NamedProcesses final : public Processes {
 public:
  SessionRecord this_one(std::string kind) const override {
    SessionRecord record;
    record.kind = std::move(kind);
    record.host = "here";
    record.boot = "boot";
    record.pid = pid;
    record.pid_namespace = 1;
    record.source = "/mnt/" + std::to_string(pid);
    return record;
  }
  bool has_ended(const SessionRecord& record) const override { return ended.contains(record.pid); }

  std::int64_t pid = 1;
  std::set<std::int64_t> ended;
};

}  // namespace runnel::volume::testing
