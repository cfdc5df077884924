#include "writing/testing/branch_life.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "async/together.h"
#include "env/clock.h"
#include "writing/testing/snapshot_base.h"

namespace runnel::writing::testing {

using volume::kRootInode;

BranchLife::BranchLife(WritingMachine& machine, Begins how)
    : machine_(machine),
      how_(how),
      pid_(++machine.processes.pid),
      volume_(std::make_unique<volume::Volume>(run(open()))),
      branch_(
          run(Branch::open(*machine.data.loop(),
                           {.files = machine.disk.open(), .owner = {"uuid", "main"}, .nonce = 7},
                           volume_->head().newest_version()))) {}

BranchLife::~BranchLife() {
  run(branch_->stop());
  machine_.processes.ended.insert(pid_);
}

Async<volume::Volume> BranchLife::open() {
  volume::testing::MemoryVolume& data = machine_.data;
  object::ObjectStore& store = machine_.store == nullptr ? data.store() : *machine_.store;
  return volume::Volume::open(
      {store, env::real_clock(), data.random(), {}, nullptr, machine_.processes}, "data");
}

void BranchLife::begin(const Make& make) {
  Parts parts{.loop = *machine_.data.loop(), .volume = *volume_, .branch = *branch_};
  parts.publishing.every = Duration::millis(20);
  parts.rebase = [this](const volume::Manifest& manifest) {
    if (files_) files_->rebase(base_of(*volume_, manifest));
  };
  parts.lost = [this] { has_said_lost_ = true; };
  publishing_ = make(std::move(parts));
  begun_ = machine_.data.try_run(publishing_->begin(how_, {}));
  if (!begun_.ok()) return;
  const volume::Snapshot base = run(publishing_->base());
  files_.emplace(*branch_, base_of(*volume_, base.manifest()), [] { return Moment(); });
}

void BranchLife::make(const std::string& name) {
  const FileFound made = run(files_->create({}, {kRootInode, name}, {.target = ""}));
  run(files_->write(made.inode, 0, "bytes of " + name));
  run(branch_->written(branch_->last()));
}

void BranchLife::commit(const std::string& name) {
  const auto found = run(files_->look_up(kRootInode, name));
  run(files_->commit(found->inode));
}

bool BranchLife::shows(const std::string& name) {
  return run(files_->look_up(kRootInode, name)).has_value();
}

void BranchLife::finish() {
  publishing_->finish();
  run(publishing_->run({}));
}

void BranchLife::run_until(const std::function<bool()>& is_so) {
  std::vector<async::Stoppable<void>> both;
  both.push_back([this](async::StopToken stop) { return publishing_->run(std::move(stop)); });
  both.push_back([this, &is_so](async::StopToken) { return wait(is_so); });
  const auto first = run(async::race<void>(*machine_.data.loop(), std::move(both)));
  EXPECT_EQ(first.winner, 1U) << first.result.error().to_string();
}

Async<void> BranchLife::wait(std::function<bool()> is_so) {
  for (int tries = 0; tries < 2'000 && !is_so(); ++tries) {
    CO_TRY(co_await machine_.data.loop()->sleep(Duration::millis(5)));
  }
  EXPECT_TRUE(is_so());
  co_return {};
}

}  // namespace runnel::writing::testing
