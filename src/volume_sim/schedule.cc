#include "volume_sim/schedule.h"

#include <cstdio>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "hash/xxh3.h"
#include "volume/gc.h"
#include "volume_sim/work.h"

namespace runnel::volume_sim {
namespace {

constexpr Time kStart = Time::from_millis(1'700'000'000'000);
constexpr Duration kHorizon = Duration::minutes(8);
constexpr std::size_t kProcessesMax = 5;  // At one time.

class Schedule {
 public:
  Schedule(std::uint64_t seed, bool told)
      : dice_(seed),
        told_(told),
        agenda_(kStart),
        bucket_(std::make_shared<Bucket>(agenda_)),
        oracle_(agenda_, *bucket_) {
    bucket_->watch([this](const Bucket::Change& change) { note(change); });
    if (chance(70)) draw_faults();
  }

  Outcome run() {
    run_alone([this](Process& process) { return make(process); });
    const Time end = agenda_.now() + kHorizon;
    plan_mishaps(end);
    plan_processes(end);
    agenda_.at(end, [] {});
    while (agenda_.now() < end && oracle_.violation().empty()) step();
    faults_ = {};
    for (const auto& process : processes_) {
      if (!process->has_ended()) kill(*process);
    }
    processes_.clear();
    wait(Duration::seconds(300));  // What is late arrives.
    for (int round = 0; round < 2 && oracle_.violation().empty(); ++round) {
      run_alone([this](Process& process) { return collect_all(process); });
    }
    if (oracle_.violation().empty()) oracle_.check_end();
    outcome_.violation = oracle_.violation();
    outcome_.publishes = oracle_.publishes();
    outcome_.collections = oracle_.collections();
    return outcome_;
  }

 private:
  bool chance(int percent) { return dice_.next() % 100 < static_cast<std::uint64_t>(percent); }
  Duration up_to(Duration most) {
    return Duration::millis(
        static_cast<std::int64_t>(dice_.next() % static_cast<std::uint64_t>(most.millis() + 1)));
  }

  void draw_faults() {
    const auto often = [this] { return chance(50) ? static_cast<int>(dice_.next() % 80) : 0; };
    faults_ = {.lost = often(),
               .unheard = often(),
               .late = often(),
               .doubled = often(),
               .congested = often() / 4,
               .contended = often()};
  }

  void note(const Bucket::Change& change) {
    const std::string& key = change.key;
    const Bucket::Stored* const after = change.after;
    const std::string line = std::to_string((agenda_.now() - kStart).millis()) + " by " +
                             std::to_string(change.process) + " " + key + " " +
                             (after == nullptr ? "removed" : "put");
    outcome_.hash = hash::xxh3(std::to_string(outcome_.hash) + line);
    if (told_) {
      const bool has_text = after != nullptr && after->bytes->size() < 2'000 &&
                            key.find("/p/") == std::string::npos &&
                            key.find("/i/") == std::string::npos;
      std::printf("%s %s\n", line.c_str(), has_text ? after->bytes->c_str() : "");
    }
    if (oracle_.violation().empty()) oracle_.changes(change);
  }

  std::unique_ptr<Process> new_process() {
    const Duration skew = up_to(Duration::hours(2)) - Duration::hours(1);
    return std::make_unique<Process>(agenda_, bucket_, faults_, skew, ++made_, dice_.next());
  }

  // Runs one process to its end, without faults.
  template <typename Work>
  void run_alone(Work work) {
    const Faults before = std::exchange(faults_, {});
    const std::unique_ptr<Process> process = new_process();
    process->start(work(*process));
    while (!process->has_ended()) agenda_.step();
    faults_ = before;
  }

  Async<void> make(Process& process) {
    const Result<volume::Volume> made = co_await volume::Volume::create(process.context(), kVolume);
    if (!made.ok()) oracle_.found_wrong("no volume: " + made.error().to_string());
    co_return {};
  }

  Async<void> collect_all(Process& process) {
    volume::Volume volume = CO_TRY(co_await volume::Volume::open(process.context(), kVolume));
    const Result<volume::GcResult> done =
        co_await volume::collect_garbage(process.loop(), process.clock(), volume, {}, {});
    if (!done.ok()) oracle_.found_wrong("the last gc ends with " + done.error().to_string());
    co_return {};
  }

  void wait(Duration length) {
    bool there = false;
    agenda_.after(length, [&there] { there = true; });
    while (!there) agenda_.step();
  }

  void step() {
    agenda_.step();
    std::erase_if(processes_, [this](const auto& process) {
      if (process->has_ended()) oracle_.is_dead(process->number());
      return process->has_ended();
    });
  }

  void plan_processes(Time end) {
    for (Time at = agenda_.now(); at < end; at = at + up_to(Duration::seconds(12))) {
      agenda_.at(at, [this] { begin_process(); });
    }
  }

  void begin_process() {
    if (processes_.size() >= kProcessesMax || !oracle_.violation().empty()) return;
    using Work = Async<void> (*)(Process&, Oracle&);
    constexpr Work kWorks[] = {put_files,    put_files,   put_files, remove_files, rearrange,
                               read_version, tag_version, collect,   collect};
    const Work work = kWorks[dice_.next() % std::size(kWorks)];
    processes_.push_back(new_process());
    processes_.back()->start(work(*processes_.back(), oracle_));
  }

  void kill(Process& process) {
    oracle_.is_dead(process.number());
    process.kill();
  }

  void plan_mishaps(Time end) {
    const Duration between = Duration::seconds(chance(50) ? 20 : 90);
    for (Time at = agenda_.now() + up_to(between); at < end; at = at + up_to(between * 2)) {
      agenda_.at(at, [this] { mishap(); });
    }
  }

  void mishap() {
    if (processes_.empty()) return;
    const std::size_t which = dice_.next() % processes_.size();
    if (processes_[which]->has_ended()) return;
    if (chance(40)) {
      ++outcome_.kills;
      kill(*processes_[which]);
      return;
    }
    ++outcome_.freezes;
    Process* const frozen = processes_[which].get();
    frozen->freeze();
    agenda_.after(up_to(Duration::seconds(120)), [this, frozen] {
      for (const auto& process : processes_) {
        if (process.get() == frozen) process->thaw();
      }
    });
  }

  SplitMix64 dice_;
  const bool told_;
  Agenda agenda_;
  std::shared_ptr<Bucket> bucket_;
  Oracle oracle_;
  Faults faults_;
  std::uint64_t made_ = 0;  // Processes.
  std::vector<std::unique_ptr<Process>> processes_;
  Outcome outcome_;
};

}  // namespace

Outcome run_schedule(std::uint64_t seed, bool told) { return Schedule(seed, told).run(); }

}  // namespace runnel::volume_sim
