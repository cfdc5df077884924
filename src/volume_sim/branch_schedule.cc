#include "volume_sim/branch_schedule.h"

#include <array>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "volume_sim/branch_writer.h"
#include "volume_sim/work.h"
#include "volume_sim/world.h"

namespace runnel::volume_sim {
namespace {

constexpr Duration kBranchHorizon = Duration::minutes(5);
constexpr std::size_t kOthersMax = 3;  // At one time.

class BranchSchedule {
 public:
  BranchSchedule(std::uint64_t seed, bool told)
      : dice_(seed), world_(dice_, told), writer_(dice_, world_.oracle()) {
    if (chance(70)) world_.draw_faults();
  }

  BranchOutcome run() {
    world_.make_volume();
    const Time end = world_.agenda().now() + kBranchHorizon;
    plan(end, Duration::seconds(8), [this] { begin_other(); });
    plan(end, Duration::seconds(20), [this] { mishap(); });
    world_.agenda().at(end, [] {});
    while (world_.agenda().now() < end && world_.violation().empty()) step();
    end_all();
    world_.settle();
    outcome_.violation = world_.violation();
    outcome_.hash = world_.hash();
    outcome_.changes = writer_.changes();
    outcome_.publishes = writer_.published();
    outcome_.lost = writer_.lost();
    outcome_.failures = writer_.failures();
    return outcome_;
  }

 private:
  bool chance(int percent) { return dice_.next() % 100 < static_cast<std::uint64_t>(percent); }
  void plan(Time end, Duration between, const std::function<void()>& what) {
    for (Time at = world_.agenda().now(); at < end; at = at + world_.up_to(between * 2)) {
      world_.agenda().at(at, [this, what] {
        if (!is_over_) what();
      });
    }
  }

  void step() {
    if (!life_) begin_life();
    world_.agenda().step();
    if (writer_.look()) kill(BranchTruth::Loss::kProcess);
    if (life_ && life_->has_ended()) {
      world_.oracle().is_dead(life_->number());
      life_.reset();
    }
    world_.drop_ended(others_);
  }

  void begin_life() {
    writer_.disk().set_writes_at_once(chance(50));
    life_ = world_.new_process();
    life_->start(writer_.live(*life_, BranchWriter::Ends::kAnyhow));
  }

  void begin_other() {
    if (others_.size() >= kOthersMax) return;
    static constexpr std::array kWorks{read_version, tag_version, collect, collect};
    others_.push_back(world_.new_process());
    others_.back()->start(kWorks[dice_.next() % kWorks.size()](*others_.back(), world_.oracle()));
  }

  void kill(BranchTruth::Loss loss) {
    if (!life_ || life_->has_ended()) return;
    ++outcome_.kills;
    if (loss == BranchTruth::Loss::kPower) ++outcome_.power_losses;
    is_frozen_ = false;
    writer_.kill(loss);
    world_.kill(*life_);
    life_.reset();
  }

  void mishap() {
    // One that stands still is let alone, or gc would seldom take it for dead.
    if (is_frozen_) return;
    const std::uint64_t what = dice_.next() % 100;
    if (what < 10) return kill(BranchTruth::Loss::kProcess);
    if (what < 20) return kill(BranchTruth::Loss::kPower);
    if (what < 35) {
      return writer_.disk().kill_after(1 + static_cast<std::int64_t>(dice_.next() % 40));
    }
    if (what < 43) return writer_.disk().fail_next_sync();
    if (what < 51) return writer_.disk().fail_next_write();
    if (what < 60) return fill_disk();
    if (!life_) return;
    if (what < 70) {
      life_->network().set_away(true);
      later(Duration::seconds(100), [](Process& it) { it.network().set_away(false); });
    } else {
      is_frozen_ = true;
      life_->freeze();
      later(Duration::seconds(120), [this](Process& it) {
        is_frozen_ = false;
        it.thaw();
      });
    }
  }

  void fill_disk() {
    writer_.disk().set_full(true);
    world_.agenda().after(world_.up_to(Duration::seconds(30)),
                          [this] { writer_.disk().set_full(false); });
  }

  // Within that time, unless the life has ended.
  void later(Duration most, const std::function<void(Process&)>& what) {
    world_.agenda().after(world_.up_to(most), [this, number = life_->number(), what] {
      if (life_ && life_->number() == number) what(*life_);
    });
  }

  // Another life without faults has all that was promised, and publishes it.
  void end_all() {
    is_over_ = true;
    world_.faults() = {};
    kill(BranchTruth::Loss::kProcess);
    life_.reset();
    world_.kill_all(others_);
    writer_.disk().heal();
    if (!world_.violation().empty()) return;
    world_.wait(Duration::seconds(300));
    life_ = world_.new_process();
    life_->start(writer_.live(*life_, BranchWriter::Ends::kPublished));
    while (!life_->has_ended()) {
      world_.agenda().step();
      writer_.look();
    }
    life_.reset();
  }

  SplitMix64 dice_;
  World world_;
  BranchWriter writer_;
  std::unique_ptr<Process> life_;  // Of the writer.
  std::vector<std::unique_ptr<Process>> others_;
  BranchOutcome outcome_;
  bool is_frozen_ = false;
  bool is_over_ = false;
};

}  // namespace

BranchOutcome run_branch_schedule(std::uint64_t seed, bool told) {
  return BranchSchedule(seed, told).run();
}

}  // namespace runnel::volume_sim
