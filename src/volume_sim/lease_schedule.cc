#include "volume_sim/lease_schedule.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/together.h"
#include "volume_sim/expected.h"
#include "volume_sim/work.h"
#include "volume_sim/world.h"
#include "writing/branch_files.h"
#include "writing/leased_publishing.h"
#include "writing/testing/log_disk.h"
#include "writing/testing/snapshot_base.h"

namespace runnel::volume_sim {
namespace {

using volume::kRootInode;
using writing::BranchFiles;
using writing::LeasedPublishing;

constexpr Duration kLeaseHorizon = Duration::minutes(6);
constexpr std::size_t kPlaces = 3;
constexpr std::size_t kBesideMax = 2;  // Others at one time.

class MountLife;

// Where a mount may be: a disk with its log, and the process that serves it.
struct MountPlace {
  std::string name;
  writing::testing::LogDisk disk;
  std::unique_ptr<Process> process;
  std::shared_ptr<MountLife> life;              // The process's.
  bool is_mounted = false;                      // Programs have files open, whoever serves it.
  std::map<std::string, std::string> promised;  // Files, ever,
  std::map<std::string, std::string> seen;      // and those since it was mounted.
  int made = 0;
  int lives = 0;  // Counted up by a kill, too: what an earlier one does counts no more.
};

// The life of a process that serves a mount.
class MountLife {
 public:
  MountLife(SplitMix64& dice, Oracle& oracle, LeaseOutcome& outcome, MountPlace& place,
            Process& process, bool is_last)
      : dice_(dice),
        oracle_(oracle),
        outcome_(outcome),
        place_(place),
        process_(process),
        number_(++place.lives),
        is_last_(is_last) {}

  // It is being killed: nothing is tried again.
  void stop() { stop_.stop(); }

  Async<void> run() {
    Result<volume::Volume> volume =
        co_await volume::Volume::open(process_.context(), process_.volume());
    if (!volume.ok()) co_return wrong_unless_expected("open", volume);
    writing::Branch::Site site{
        .files = place_.disk.open(), .owner = {volume->head().uuid, "main"}, .nonce = 7};
    site.segment = Bytes::mebi(2);
    const std::unique_ptr<writing::Branch> branch = CO_TRY(co_await writing::Branch::open(
        process_.loop(), std::move(site), volume->head().newest_version()));
    const Result<void> done = co_await with_branch(*volume, *branch);
    if (volume->has_session()) (void)co_await volume->end_session();
    MUST(co_await branch->stop());
    co_return wrong_unless_expected("mount", done);
  }

 private:
  using Begins = LeasedPublishing::Begins;

  bool is_killed() const { return place_.lives != number_; }
  std::uint64_t pick(std::uint64_t count) { return dice_.next() % count; }

  // The last life has no excuse, but for what gc has dropped that its log goes on from.
  Result<void> wrong_unless_expected(const char* what, const Result<void>& result) {
    const bool is_gone = !result.ok() && result.error().code == Errc::kNotFound;
    if (is_killed()) return {};
    if (is_last_ && is_gone) place_.promised.clear();
    if (is_last_ && !result.ok() && !is_gone) {
      oracle_.found_wrong("the last mount of " + place_.name + " ends with " +
                          result.error().to_string());
    }
    const bool is_of_disk = !result.ok() && result.error().code == Errc::kIo;
    if (!is_gone && !is_of_disk) tell(oracle_, what, result);
    return {};
  }
  template <typename T>
  Result<void> wrong_unless_expected(const char* what, const Result<T>& result) {
    return wrong_unless_expected(what, result.ok() ? Result<void>() : result.error());
  }

  LeasedPublishing::Options options(volume::Volume& volume) {
    LeasedPublishing::Options all{.clock = process_.clock(), .source = place_.name};
    all.publishing.failed = [this](const Error& error) {
      (void)wrong_unless_expected("publish", Result<void>(error));
    };
    all.rebase = [this, &volume](const volume::Manifest& manifest) {
      if (files_) files_->rebase(writing::testing::base_of(volume, manifest));
    };
    all.lost = [this] { outcome_.lost += is_killed() ? 0 : 1; };
    all.recovered = [this](const std::string&) { outcome_.recovered += is_killed() ? 0 : 1; };
    return all;
  }

  Async<void> with_branch(volume::Volume& volume, writing::Branch& branch) {
    LeasedPublishing publishing(process_.loop(), volume, branch, options(volume));
    const auto how = place_.is_mounted ? Begins::kTakingOver : Begins::kAnew;
    const Result<void> begun = co_await publishing.begin(how, stop_.token());
    if (!begun.ok() && begun.error().code == Errc::kConflict) ++outcome_.refused;
    CO_TRY(Result<void>(begun));
    if (is_killed()) co_return {};
    ++outcome_.leases;
    if (how == Begins::kAnew) place_.seen.clear();
    place_.is_mounted = true;
    const volume::Snapshot base = CO_TRY(co_await volume.snapshot_by_id(*branch.overlay().base()));
    files_.emplace(branch, writing::testing::base_of(volume, base.manifest()),
                   [this] { return writing::Moment{++time_, 0}; });
    const Result<void> published = co_await publish_beside(publishing, branch);
    if (published.ok() && !is_killed()) place_.is_mounted = false;
    co_return published;
  }

  // What programs do, and who publishes it.
  Async<void> publish_beside(LeasedPublishing& publishing, writing::Branch& branch) {
    std::vector<async::Stoppable<void>> both;
    both.emplace_back([&](async::StopToken stop) { return work(publishing, branch, stop); });
    both.emplace_back([&](async::StopToken stop) { return publishing.run(std::move(stop)); });
    auto first =
        CO_TRY(co_await async::race<void>(process_.loop(), std::move(both), stop_.token()));
    co_return std::move(first.result);
  }

  Async<void> work(LeasedPublishing& publishing, writing::Branch& branch, async::StopToken stop) {
    const std::uint64_t steps = is_last_ ? 1 : 3 + pick(40);
    for (std::uint64_t step = 0; step < steps && !publishing.has_lost() && !is_killed(); ++step) {
      CO_TRY(co_await process_.loop().sleep(
          Duration::millis(static_cast<std::int64_t>(pick(4'000))), {}));
      if (pick(4) == 0) CO_TRY(co_await look());
      if (publishing.has_lost() || is_last_) break;
      CO_TRY(co_await make_file(branch));
    }
    publishing.finish();
    async::Notifier never(process_.loop());
    co_return co_await never.wait(std::move(stop));
  }

  // A log that has failed takes it once it has begun anew.
  Async<void> make_file(writing::Branch& branch) {
    const std::string name = place_.name + "-" + std::to_string(place_.made++);
    const auto made = co_await files_->create({}, {kRootInode, name}, {.target = ""});
    if (!made.ok()) co_return {};
    const Result<void> done = co_await write(branch, made->inode, "bytes of " + name);
    if (!done.ok() || is_killed()) co_return {};
    place_.promised[name] = place_.seen[name] = "bytes of " + name;
    ++outcome_.files;
    co_return {};
  }

  Async<void> write(writing::Branch& branch, volume::Inode file, std::string bytes) {
    CO_TRY(co_await files_->write(file, 0, std::move(bytes)));
    CO_TRY(co_await files_->commit(file));
    co_return co_await branch.written(branch.last());
  }

  // A program sees what it has made since the mount began, whoever serves it.
  Async<void> look() {
    if (place_.seen.empty()) co_return {};
    auto at = place_.seen.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(pick(place_.seen.size())));
    const auto [name, bytes] = *at;
    const auto found = co_await files_->look_up(kRootInode, name);
    if (!found.ok() || is_killed()) co_return {};
    if (!*found) {
      oracle_.found_wrong("a mount does not show " + name);
      co_return {};
    }
    const Result<std::string> read = co_await files_->read((*found)->inode, 0, 1'000);
    if (read.ok() && *read != bytes) oracle_.found_wrong("a mount shows other bytes of " + name);
    co_return {};
  }

  SplitMix64& dice_;
  Oracle& oracle_;
  LeaseOutcome& outcome_;
  MountPlace& place_;
  Process& process_;
  const int number_;
  const bool is_last_;
  async::StopSource stop_;
  std::optional<BranchFiles> files_;
  std::int64_t time_ = 1'000;
};

Async<void> live(std::shared_ptr<MountLife> life) { co_return co_await life->run(); }

class LeaseSchedule {
 public:
  LeaseSchedule(std::uint64_t seed, bool told) : dice_(seed), world_(dice_, told) {
    if (chance(70)) world_.draw_faults();
    for (std::size_t number = 0; number < kPlaces; ++number) {
      places_[number].name = "mount" + std::to_string(number);
    }
  }

  LeaseOutcome run() {
    world_.make_volume();
    const Time end = world_.agenda().now() + kLeaseHorizon;
    plan(end, Duration::seconds(10), [this] { begin_mount(); });
    plan(end, Duration::seconds(15), [this] { begin_other(); });
    plan(end, Duration::seconds(15), [this] { mishap(); });
    world_.agenda().at(end, [] {});
    while (world_.agenda().now() < end && world_.violation().empty()) step();
    end_all();
    world_.settle();
    outcome_.versions = world_.oracle().publishes();
    outcome_.violation = world_.violation();
    outcome_.hash = world_.hash();
    return outcome_;
  }

 private:
  bool chance(int percent) { return dice_.next() % 100 < static_cast<std::uint64_t>(percent); }
  MountPlace& any_place() { return places_[dice_.next() % kPlaces]; }
  void plan(Time end, Duration between, const std::function<void()>& what) {
    for (Time at = world_.agenda().now(); at < end; at = at + world_.up_to(between * 2)) {
      world_.agenda().at(at, [this, what] {
        if (!is_over_) what();
      });
    }
  }
  void step() {
    world_.agenda().step();
    for (MountPlace& place : places_) {
      if (!place.process || !place.process->has_ended()) continue;
      world_.oracle().is_dead(place.process->number());
      place.process.reset();
    }
    world_.drop_ended(others_);
  }

  void begin(MountPlace& place, bool is_last) {
    place.process = world_.new_process();
    place.disk.set_writes_at_once(chance(50));
    place.life = std::make_shared<MountLife>(dice_, world_.oracle(), outcome_, place,
                                             *place.process, is_last);
    place.process->start(live(place.life));
  }
  void begin_mount() {
    MountPlace& place = any_place();
    if (!place.process) begin(place, false);
  }
  void begin_other() {
    if (others_.size() >= kBesideMax) return;
    static constexpr std::array kWorks{put_files, read_version, tag_version, collect};
    others_.push_back(world_.new_process());
    others_.back()->start(kWorks[dice_.next() % kWorks.size()](*others_.back(), world_.oracle()));
  }

  // The kernel's side of a mount may die with its server, or be served by the next one.
  void kill(MountPlace& place) {
    if (!place.process || place.process->has_ended()) return;
    ++outcome_.kills;
    ++place.lives;
    place.disk.kill_after(0);
    place.life->stop();
    world_.kill(*place.process);
    place.process.reset();
    if (chance(50)) place.is_mounted = false;
  }

  void mishap() {
    MountPlace& place = any_place();
    const std::uint64_t what = dice_.next() % 100;
    if (what < 25) return kill(place);
    if (what < 35) return place.disk.fail_next_write();
    if (!place.process) return;
    if (what < 55) {
      place.process->network().set_away(true);
      later(place, Duration::seconds(100), [](Process& it) { it.network().set_away(false); });
    } else {
      ++outcome_.stops;
      place.process->freeze();
      later(place, Duration::seconds(120), [](Process& it) { it.thaw(); });
    }
  }
  // Within that time, unless the process has ended.
  void later(MountPlace& place, Duration most, const std::function<void(Process&)>& what) {
    world_.agenda().after(world_.up_to(most), [&place, number = place.process->number(), what] {
      if (place.process && place.process->number() == number) what(*place.process);
    });
  }

  // Each log is mounted once more, and nothing fails.
  void end_all() {
    is_over_ = true;
    world_.faults() = {};
    for (MountPlace& place : places_) kill(place);
    world_.kill_all(others_);
    if (!world_.violation().empty()) return;
    world_.wait(Duration::seconds(300));
    for (MountPlace& place : places_) {
      place.disk.heal();
      place.is_mounted = false;
      begin(place, true);
      while (place.process) step();
    }
    world_.run_alone([this](Process& process) { return check(process); });
  }

  // Which of the promised files a version has.
  Async<void> find_files(volume::Volume& volume, std::string version,
                         std::map<std::string, std::string>& found) {
    volume::Snapshot snapshot = CO_TRY(co_await volume.snapshot(std::move(version)));
    const writing::BranchBase base = writing::testing::base_of(volume, snapshot.manifest());
    for (const auto& entry : CO_TRY(co_await snapshot.list(kRootInode, "", 100'000))) {
      if (!entry.name.starts_with("mount")) continue;
      const auto read = base.read;
      found[entry.name] = CO_TRY(co_await read(entry.what.inode, 0, 1'000));
    }
    co_return {};
  }

  Async<void> check(Process& process) {
    volume::Volume volume =
        CO_TRY(co_await volume::Volume::open(process.context(), process.volume()));
    std::map<std::string, std::string> found;
    std::vector<std::string> versions;
    if (volume.head().newest() != nullptr) versions.emplace_back("latest");
    for (const auto& [tag, place] : volume.head().tags) versions.push_back(tag);
    for (const std::string& version : versions) {
      const Result<void> read = co_await find_files(volume, version, found);
      if (!read.ok()) world_.oracle().found_wrong("a version cannot be read: " + version);
    }
    for (const MountPlace& place : places_) {
      for (const auto& [name, bytes] : place.promised) {
        const auto there = found.find(name);
        if (there == found.end()) {
          world_.oracle().found_wrong("no version has " + name);
        } else if (there->second != bytes) {
          world_.oracle().found_wrong("a version has other bytes of " + name);
        }
      }
    }
    co_return {};
  }

  SplitMix64 dice_;
  World world_;
  std::array<MountPlace, kPlaces> places_;
  std::vector<std::unique_ptr<Process>> others_;
  LeaseOutcome outcome_;
  bool is_over_ = false;
};

}  // namespace

LeaseOutcome run_lease_schedule(std::uint64_t seed, bool told) {
  return LeaseSchedule(seed, told).run();
}

}  // namespace runnel::volume_sim
