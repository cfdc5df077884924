#include "volume_sim/schedule.h"

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "volume_sim/branch_work.h"
#include "volume_sim/work.h"
#include "volume_sim/world.h"

namespace runnel::volume_sim {
namespace {

constexpr Duration kHorizon = Duration::minutes(8);
constexpr std::size_t kProcessesMax = 5;  // At one time.

// What processes do, each as often as it stands here. `crowded`: what gets in each other's way.
std::vector<Work> works_of(bool on_several, bool crowded) {
  if (on_several && crowded) {
    return {put_files,     read_version,  collect,      create_volume, clone_another,
            clone_another, clone_another, delete_whole, delete_whole};
  }
  if (on_several) {
    return {put_files,     put_files,     remove_files, rearrange,   read_version,
            read_version,  tag_version,   collect,      collect,     create_volume,
            clone_another, clone_another, delete_whole, delete_whole};
  }
  if (crowded) {
    return {put_files,    remove_files, rearrange, read_version,
            read_version, collect,      collect,   collect};
  }
  return {put_files,    put_files,   put_files, remove_files, rearrange,
          read_version, tag_version, collect,   collect};
}

std::vector<Work> works_on_branches() {
  return {write_branch, write_branch, write_branch, write_branch, merge_done, merge_done,
          put_files,    remove_files, read_version, tag_version,  collect,    collect};
}

enum class Kind : std::uint8_t { kPlain, kBranches };

class Schedule {
 public:
  Schedule(std::uint64_t seed, Kind kind, bool told)
      : kind_(kind), dice_(seed), world_(dice_, told) {
    if (chance(70)) world_.draw_faults();
    const bool comes_twice = chance(15);
    if (comes_twice) world_.faults() = {.doubled = 600};
    is_crowded_ = comes_twice || chance(30);
    const bool on_several = kind_ == Kind::kPlain && chance(40);
    if (on_several) world_.set_volumes({"data", "one", "two"});
    works_ = kind_ == Kind::kBranches ? works_on_branches() : works_of(on_several, is_crowded_);
  }

  Outcome run() {
    world_.make_volume();
    const Time end = world_.agenda().now() + kHorizon;
    plan_mishaps(end);
    plan_processes(end);
    world_.agenda().at(end, [] {});
    while (world_.agenda().now() < end && world_.violation().empty()) step();
    world_.faults() = {};
    world_.kill_all(processes_);
    if (kind_ == Kind::kBranches) end_branches();
    world_.settle();
    outcome_.violation = world_.violation();
    outcome_.hash = world_.hash();
    outcome_.publishes = world_.oracle().publishes();
    outcome_.collections = world_.oracle().collections();
    outcome_.clones = world_.oracle().clones();
    outcome_.deletions = world_.oracle().deletions();
    outcome_.resumptions = world_.oracle().resumptions();
    outcome_.attempts = world_.oracle().branches().attempts();
    outcome_.merges = world_.oracle().branches().merges();
    return outcome_;
  }

 private:
  bool chance(int percent) { return dice_.next() % 100 < static_cast<std::uint64_t>(percent); }

  void step() {
    world_.agenda().step();
    world_.drop_ended(processes_);
  }

  // Once nothing is on its way any more.
  void end_branches() {
    world_.wait(Duration::seconds(300));
    for (const Work work : {merge_done, remove_branches}) {
      if (!world_.violation().empty()) return;
      world_.run_alone([this, work](Process& process) { return work(process, world_.oracle()); });
    }
  }

  void plan_processes(Time end) {
    const Duration between = Duration::seconds(is_crowded_ ? 3 : 6);
    for (Time at = world_.agenda().now(); at < end; at = at + world_.up_to(between * 2)) {
      world_.agenda().at(at, [this] { begin_process(); });
    }
  }

  void begin_process() {
    if (processes_.size() >= kProcessesMax || !world_.violation().empty()) return;
    const Work work = works_[dice_.next() % works_.size()];
    processes_.push_back(world_.new_process());
    processes_.back()->start(work(*processes_.back(), world_.oracle()));
  }

  void plan_mishaps(Time end) {
    Agenda& agenda = world_.agenda();
    const Duration between = Duration::seconds(chance(50) ? 20 : 90);
    for (Time at = agenda.now() + world_.up_to(between); at < end;
         at = at + world_.up_to(between * 2)) {
      agenda.at(at, [this] { mishap(); });
    }
  }

  void mishap() {
    if (processes_.empty()) return;
    Process& process = *processes_[dice_.next() % processes_.size()];
    if (process.has_ended()) return;
    const std::uint64_t what = dice_.next() % 100;
    if (what < 35) {
      ++outcome_.kills;
      world_.kill(process);
    } else if (what < 45) {
      process.clock().set(world_.any_skew());
    } else if (what < 55) {
      process.network().set_away(true);
      later_if_there(process, Duration::seconds(200),
                     [](Process& it) { it.network().set_away(false); });
    } else {
      ++outcome_.freezes;
      process.freeze();
      later_if_there(process, Duration::seconds(120), [](Process& it) { it.thaw(); });
    }
  }

  // Within that time, unless it is no more.
  void later_if_there(const Process& process, Duration most,
                      const std::function<void(Process&)>& what) {
    world_.agenda().after(world_.up_to(most), [this, number = process.number(), what] {
      for (const auto& each : processes_) {
        if (each->number() == number) what(*each);
      }
    });
  }

  const Kind kind_;
  SplitMix64 dice_;
  World world_;
  bool is_crowded_ = false;
  std::vector<Work> works_;
  std::vector<std::unique_ptr<Process>> processes_;
  Outcome outcome_;
};

}  // namespace

Outcome run_schedule(std::uint64_t seed, bool told) {
  return Schedule(seed, Kind::kPlain, told).run();
}

Outcome run_merge_schedule(std::uint64_t seed, bool told) {
  return Schedule(seed, Kind::kBranches, told).run();
}

}  // namespace runnel::volume_sim
