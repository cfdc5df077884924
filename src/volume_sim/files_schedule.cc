#include "volume_sim/files_schedule.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "async/gate.h"
#include "volume/kept_session.h"
#include "volume_sim/expected.h"
#include "volume_sim/work.h"
#include "volume_sim/world.h"
#include "writing/branch_files.h"
#include "writing/publisher.h"
#include "writing/testing/log_disk.h"
#include "writing/testing/snapshot_base.h"

namespace runnel::volume_sim {
namespace {

using volume::Inode;
using volume::NodeKind;
using writing::BranchFiles;
using writing::Place;
using writing::Refusal;
using writing::testing::base_of;

constexpr int kPrograms = 3;
constexpr int kCallsOfAProgram = 120;
constexpr std::size_t kFileMax = 3'000;

// Names in the root that programs make as locks, and which of them has each.
using Locks = std::map<std::string, std::string>;

// One program, which knows what it has done.
class Program {
 public:
  Program(async::EventLoop& loop, SplitMix64& dice, BranchFiles& files, Locks& locks,
          Oracle& oracle, FilesOutcome& outcome, int number)
      : loop_(loop),
        dice_(dice),
        files_(files),
        locks_(locks),
        oracle_(oracle),
        outcome_(outcome),
        name_("p" + std::to_string(number)) {}

  Async<void> run() {
    CO_TRY(co_await begin());
    for (int call = 0; call < kCallsOfAProgram && oracle_.violation().empty(); ++call) {
      ++outcome_.calls;
      const Result<void> done = co_await act();
      tell(oracle_, "call", done);
      CO_TRY(co_await loop_.sleep(Duration::millis(pick(1'500)), {}));
    }
    co_return {};
  }
  // What the version of these paths must have; "": a folder.
  std::map<std::string, std::string> contents() const {
    std::map<std::string, std::string> all{{name_, ""}};
    for (const auto& [name, bytes] : mine_) all[name_ + "/" + name] = bytes;
    return all;
  }

 private:
  int pick(int count) { return static_cast<int>(dice_.next() % static_cast<std::uint64_t>(count)); }
  std::string a_name() { return {static_cast<char>('a' + pick(5))}; }
  Place at(const std::string& name) const { return {folder_, name}; }
  void wrong(const std::string& what) { oracle_.found_wrong(name_ + ": " + what); }

  Async<void> begin() {
    while (folder_ == 0) {
      const auto made = co_await files_.create(
          {}, {volume::kRootInode, name_}, {.kind = NodeKind::kFolder, .mode = 0755, .target = ""});
      if (made.ok()) folder_ = made->inode;
      CO_TRY(co_await loop_.sleep(Duration::millis(10), {}));
    }
    co_return {};
  }

  Async<void> act() {
    switch (pick(11)) {
      case 0:
      case 1: return create();
      case 2:
      case 3: return write();
      case 4: return rename();
      case 5: return remove();
      case 6: return list();
      case 7:
      case 8:
      case 9: return lock();
      default: return read();
    }
  }

  // Whether the call did what it was to do: what was refused was refused as it must be. Another
  // error, of the store, has changed nothing.
  template <typename T>
  Result<bool> is_done(const char* what, const Result<T>& result, Refusal wanted) {
    const Refusal refused = result.ok() ? Refusal::kNone : writing::refusal_of(result.error());
    const bool is_other = !result.ok() && refused == Refusal::kNone;
    if (is_other) return result.error();
    outcome_.refused += refused == Refusal::kNone ? 0 : 1;
    if (refused != wanted) wrong(std::string(what) + " is answered wrongly");
    return result.ok();
  }

  Async<void> create() {
    const std::string name = a_name();
    const Refusal wanted = mine_.contains(name) ? Refusal::kExists : Refusal::kNone;
    const auto made =
        co_await files_.create({}, at(name), {.kind = NodeKind::kFile, .mode = 0644, .target = ""});
    if (!CO_TRY(is_done("a creation", made, wanted))) co_return {};
    mine_[name] = "";
    inodes_[name] = made->inode;
    co_return co_await files_.commit(made->inode);
  }

  // By its number, as of a file that is open, or by its name.
  Async<std::optional<Inode>> file(std::string name) {
    if (!mine_.contains(name)) {
      const auto none = CO_TRY(co_await files_.look_up(folder_, name));
      if (none) wrong("a name is there that was never given");
      co_return std::optional<Inode>();
    }
    if (pick(2) == 0) co_return std::optional(inodes_.at(name));
    const auto found = CO_TRY(co_await files_.look_up(folder_, name));
    if (!found || found->inode != inodes_.at(name)) wrong("a name is not what it was");
    if (found && found->attributes.size != mine_.at(name).size()) wrong("a file has another size");
    co_return std::optional(inodes_.at(name));
  }

  Async<void> write() {
    const std::string name = a_name();
    const std::optional<Inode> inode = CO_TRY(co_await file(name));
    if (!inode) co_return {};
    const auto offset = static_cast<std::size_t>(pick(static_cast<int>(kFileMax) / 2));
    const std::string bytes(static_cast<std::size_t>(1 + pick(1'000)),
                            static_cast<char>('A' + pick(26)));
    CO_TRY(co_await files_.write(*inode, offset, bytes));
    std::string& content = mine_.at(name);
    if (content.size() < offset + bytes.size()) content.resize(offset + bytes.size(), '\0');
    content.replace(offset, bytes.size(), bytes);
    co_return co_await files_.commit(*inode);
  }

  Async<void> rename() {
    const std::string from = a_name();
    const std::string to = a_name();
    const bool is_there = mine_.contains(from);
    const auto done =
        co_await files_.rename({}, at(from), at(to), BranchFiles::RenameMode::kReplace);
    const Refusal wanted = is_there ? Refusal::kNone : Refusal::kNoEntry;
    const bool is_moved = CO_TRY(is_done("a rename", done, wanted)) && from != to;
    if (!is_moved) co_return {};
    mine_[to] = mine_.at(from);
    inodes_[to] = inodes_.at(from);
    mine_.erase(from);
    inodes_.erase(from);
    co_return {};
  }

  // Who makes the name has it, until he removes it.
  Async<void> lock() {
    const std::string name = "lock" + std::to_string(pick(2));
    const auto holder = locks_.find(name);
    if (holder != locks_.end() && holder->second == name_) {
      const auto freed = co_await files_.remove({}, {volume::kRootInode, name}, NodeKind::kFile);
      if (CO_TRY(is_done("a removal of a lock", freed, Refusal::kNone))) locks_.erase(name);
      co_return {};
    }
    const auto taken = co_await files_.create(
        {}, {volume::kRootInode, name}, {.kind = NodeKind::kFile, .mode = 0644, .target = ""});
    // It is decided in this turn.
    const Refusal wanted = locks_.contains(name) ? Refusal::kExists : Refusal::kNone;
    if (CO_TRY(is_done("a lock", taken, wanted))) locks_[name] = name_;
    co_return {};
  }

  Async<void> remove() {
    const std::string name = a_name();
    const Refusal wanted = mine_.contains(name) ? Refusal::kNone : Refusal::kNoEntry;
    const auto done = co_await files_.remove({}, at(name), NodeKind::kFile);
    if (!CO_TRY(is_done("a removal", done, wanted))) co_return {};
    const Inode inode = inodes_.at(name);
    mine_.erase(name);
    inodes_.erase(name);
    co_return files_.forget(inode);
  }

  Async<void> list() {
    std::vector<std::string> names;
    for (std::string after;;) {
      const auto entries = CO_TRY(co_await files_.list(folder_, after, 2));
      if (entries.empty()) break;
      for (const auto& entry : entries) names.push_back(entry.name);
      after = names.back();
    }
    std::vector<std::string> wanted;
    wanted.reserve(mine_.size());
    for (const auto& [name, bytes] : mine_) wanted.push_back(name);
    if (names != wanted) wrong("a folder is listed wrongly");
    co_return {};
  }

  Async<void> read() {
    const std::string name = a_name();
    const std::optional<Inode> inode = CO_TRY(co_await file(name));
    if (!inode) co_return {};
    const std::string bytes = CO_TRY(co_await files_.read(*inode, 0, 2 * kFileMax));
    if (bytes != mine_.at(name)) wrong("a file has other bytes than were written");
    co_return {};
  }

  async::EventLoop& loop_;
  SplitMix64& dice_;
  BranchFiles& files_;
  Locks& locks_;
  Oracle& oracle_;
  FilesOutcome& outcome_;
  const std::string name_;
  Inode folder_ = 0;
  std::map<std::string, std::string> mine_;
  std::map<std::string, Inode> inodes_;
};

class FilesSchedule {
 public:
  FilesSchedule(std::uint64_t seed, bool told) : dice_(seed), world_(dice_, told) {
    if (dice_.next() % 100 < 70) world_.draw_faults();
  }

  FilesOutcome run() {
    world_.make_volume();
    const std::unique_ptr<Process> process = world_.new_process();
    process->start(live(*process));
    while (!process->has_ended()) step();
    world_.oracle().is_dead(process->number());
    world_.kill_all(others_);
    world_.faults() = {};
    world_.settle();
    outcome_.violation = world_.violation();
    outcome_.hash = world_.hash();
    return outcome_;
  }

 private:
  void step() {
    world_.agenda().step();
    world_.drop_ended(others_);
  }

  Async<void> live(Process& process) {
    volume::Volume volume =
        CO_TRY(co_await volume::Volume::open(process.context(), process.volume()));
    writing::Branch::Site site{
        .files = disk_.open(), .owner = {volume.head().uuid, "main"}, .nonce = 7};
    site.segment = Bytes::mebi(2);
    const std::unique_ptr<writing::Branch> branch =
        CO_TRY(co_await writing::Branch::open(process.loop(), std::move(site), ""));
    const volume::Snapshot empty = CO_TRY(co_await volume.snapshot("latest"));
    BranchFiles files(*branch, base_of(volume, empty.manifest()),
                      [this] { return writing::Moment{++time_, 0}; });
    writing::Publisher publisher(process.loop(), volume, *branch,
                                 {.rebase = [&](const volume::Manifest& manifest) {
                                   files.rebase(base_of(volume, manifest));
                                 }});
    CO_TRY(co_await volume.begin_writing(volume.processes().this_one("mount")));
    const Result<void> done = co_await volume::with_session<void>(
        process.loop(), volume, [&publisher] { return publisher.in_use(); },
        [&](async::StopToken) { return work(process, files, publisher); }, {});
    tell(world_.oracle(), "branch", done);
    MUST(co_await branch->stop());
    co_return {};
  }

  Async<void> work(Process& process, BranchFiles& files, writing::Publisher& publisher) {
    async::Gate running(process.loop());
    std::vector<std::shared_ptr<Program>> programs;
    running_ = kPrograms;
    for (int number = 0; number < kPrograms; ++number) {
      programs.push_back(std::make_shared<Program>(process.loop(), dice_, files, locks_,
                                                   world_.oracle(), outcome_, number));
      MUST(process.loop().spawn(running, run_one(programs.back())));
    }
    while (running_ > 0) {
      CO_TRY(co_await process.loop().sleep(
          Duration::millis(static_cast<std::int64_t>(dice_.next() % 4'000)), {}));
      begin_other();
      const auto made = co_await publisher.publish("");
      tell(world_.oracle(), "publish", made);
      outcome_.publishes += made.ok() && *made ? 1 : 0;
    }
    CO_TRY(co_await running.close());
    world_.faults() = {};
    const auto last = co_await publisher.publish("");
    tell(world_.oracle(), "publish", last);
    if (last.ok()) CO_TRY(co_await check(files, programs));
    co_return {};
  }

  Async<void> run_one(std::shared_ptr<Program> program) {
    (void)co_await program->run();
    --running_;
    co_return {};
  }

  // Read from the base alone: all is published.
  Async<void> check(BranchFiles& files, const std::vector<std::shared_ptr<Program>>& programs) {
    for (const auto& program : programs) {
      for (const auto& [path, bytes] : program->contents()) {
        Inode inode = volume::kRootInode;
        std::optional<writing::FileFound> found;
        for (std::size_t from = 0; from <= path.size();) {
          const std::size_t slash = std::min(path.find('/', from), path.size());
          found = CO_TRY(co_await files.look_up(inode, path.substr(from, slash - from)));
          if (!found) break;
          inode = found->inode;
          from = slash + 1;
        }
        if (!found) {
          world_.oracle().found_wrong("the last version lacks " + path);
        } else if (found->attributes.kind == NodeKind::kFile) {
          const std::string stored = CO_TRY(co_await files.read(inode, 0, 2 * kFileMax));
          if (stored != bytes) world_.oracle().found_wrong("the last version has another " + path);
        }
      }
    }
    co_return {};
  }

  void begin_other() {
    if (others_.size() >= 2) return;
    static constexpr std::array kWorks{read_version, tag_version, collect, collect};
    others_.push_back(world_.new_process());
    others_.back()->start(kWorks[dice_.next() % kWorks.size()](*others_.back(), world_.oracle()));
  }

  SplitMix64 dice_;
  World world_;
  writing::testing::LogDisk disk_;
  std::vector<std::unique_ptr<Process>> others_;
  std::int64_t time_ = 1'000;
  Locks locks_;
  int running_ = 0;  // Programs.
  FilesOutcome outcome_;
};

}  // namespace

FilesOutcome run_files_schedule(std::uint64_t seed, bool told) {
  return FilesSchedule(seed, told).run();
}

}  // namespace runnel::volume_sim
