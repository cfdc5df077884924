#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "volume/testing/memory_volume.h"
#include "volume/testing/named_processes.h"
#include "writing/branch.h"
#include "writing/branch_files.h"
#include "writing/branch_publishing.h"
#include "writing/publish_loop.h"
#include "writing/testing/log_disk.h"

namespace runnel::writing::testing {

// A machine on whose disk the log of a branch of a volume is.
struct WritingMachine {
  volume::testing::MemoryVolume& data;
  object::ObjectStore* store = nullptr;  // As its processes reach it; null: the volume's own.
  volume::testing::NamedProcesses processes = {};
  LogDisk disk = {};
};

// A mount that writes files into the root of a volume, as one of its processes has it: over without
// a word unless it is to end as a mount does.
class BranchLife {
 public:
  using Begins = BranchPublishing::Begins;
  // What who publishes it is made of.
  struct Parts {
    async::EventLoop& loop;
    volume::Volume& volume;
    Branch& branch;
    PublishLoop::Options publishing;  // Often.
    std::function<void(const volume::Manifest&)> rebase;
    std::function<void()> lost;
  };
  using Make = std::function<std::unique_ptr<BranchPublishing>(Parts parts)>;

  BranchLife(WritingMachine& machine, Begins how);
  ~BranchLife();
  BranchLife(const BranchLife&) = delete;
  BranchLife& operator=(const BranchLife&) = delete;

  // To be called first.
  void begin(const Make& make);
  const Result<void>& begun() const { return begun_; }

  // Makes a file, not committed.
  void make(const std::string& name);
  void commit(const std::string& name);
  bool shows(const std::string& name);
  void finish();
  // Publishes until `is_so`.
  void run_until(const std::function<bool()>& is_so);
  bool has_said_lost() const { return has_said_lost_; }
  BranchPublishing& publishing() { return *publishing_; }
  volume::Volume& volume() { return *volume_; }

 private:
  Async<volume::Volume> open();
  Async<void> wait(std::function<bool()> is_so);
  template <typename T>
  T run(Async<T> work) {
    return machine_.data.run(std::move(work));
  }

  WritingMachine& machine_;
  const Begins how_;
  const std::int64_t pid_;
  std::unique_ptr<volume::Volume> volume_;
  std::unique_ptr<Branch> branch_;
  std::unique_ptr<BranchPublishing> publishing_;
  std::optional<BranchFiles> files_;
  Result<void> begun_;
  bool has_said_lost_ = false;
};

}  // namespace runnel::writing::testing
