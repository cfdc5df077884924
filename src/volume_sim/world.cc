#include "volume_sim/world.h"

#include <algorithm>
#include <cstdio>
#include <ranges>
#include <utility>

#include "base/check.h"
#include "hash/xxh3.h"
#include "volume/delete.h"
#include "volume/gc.h"

namespace runnel::volume_sim {
namespace {

Async<void> make(Process& process, Oracle& oracle) {
  const Result<volume::Volume> made =
      co_await volume::Volume::create(process.context(), process.volume());
  if (!made.ok()) oracle.found_wrong("no volume: " + made.error().to_string());
  co_return {};
}

Async<volume::GcResult> collect_all(Process& process, volume::GcOptions options) {
  volume::Volume volume =
      CO_TRY(co_await volume::Volume::open(process.context(), process.volume()));
  co_return co_await volume::collect_garbage(process.loop(), process.clock(), volume,
                                             std::move(options), {});
}

bool is_not_there(const Error& error) {
  return error.code == Errc::kNotFound && error.field == "volume";
}

// A volume that cannot be opened: it was deleted, in whole or in part, or is a clone that has come
// to nothing, or there is none. Afterwards there is an empty one.
Async<void> make_anew(Process& process, Oracle& oracle) {
  Result<volume::Volume> there =
      co_await volume::Volume::open_to_delete(process.context(), process.volume());
  if (there.ok()) {
    CO_TRY(co_await volume::delete_volume(process.loop(), process.clock(), *there, {}, {}));
    oracle.check_deleted(process.volume());
  } else if (!is_not_there(there.error())) {
    co_return there.error();
  }
  CO_TRY(co_await volume::Volume::create(process.context(), process.volume()));
  co_return {};
}

Async<void> collect_the_rest(Process& process, Oracle& oracle) {
  Result<volume::GcResult> done = co_await collect_all(process, {});
  if (!done.ok() && is_not_there(done.error())) {
    const Result<void> made = co_await make_anew(process, oracle);
    if (!made.ok()) oracle.found_wrong("a volume is not made anew: " + made.error().to_string());
    done = co_await collect_all(process, {});
  }
  if (!done.ok()) oracle.found_wrong("the last gc ends with " + done.error().to_string());
  co_return {};
}

Async<void> expect_nothing_to_do(Process& process, Oracle& oracle) {
  const Result<volume::GcResult> would = co_await collect_all(process, {.dry_run = true});
  if (!would.ok()) oracle.found_wrong("a dry run ends with " + would.error().to_string());
  const bool has_something = would.ok() && (would->objects > 0 || would->rewritten > 0);
  if (has_something) oracle.found_wrong("two gcs leave a third one something to do");
  co_return {};
}

}  // namespace

World::World(SplitMix64& dice, bool told)
    : dice_(dice),
      told_(told),
      bucket_(std::make_shared<Bucket>(agenda_)),
      oracle_(agenda_, *bucket_) {
  bucket_->watch([this](const Bucket::Change& change) { note(change); });
}

void World::note(const Bucket::Change& change) {
  const std::string& key = change.key;
  const Bucket::Stored* const after = change.after;
  const std::string line = std::to_string((agenda_.now() - Agenda::kStart).millis()) + " by " +
                           std::to_string(change.process) + " " + key + " " +
                           (after == nullptr ? "removed" : "put");
  hash_ = hash::xxh3(std::to_string(hash_) + line);
  ++changes_[change.process];
  if (told_) {
    const bool has_text = after != nullptr && after->bytes->size() < 2'000 &&
                          key.find("/p/") == std::string::npos &&
                          key.find("/i/") == std::string::npos;
    std::printf("%s %s\n", line.c_str(), has_text ? after->bytes->c_str() : "");
  }
  if (violation().empty()) oracle_.changes(change);
}

void World::set_volumes(std::vector<std::string> names) {
  CHECK(!names.empty(), "a world has a volume");
  volumes_ = std::move(names);
}

void World::draw_faults() {
  const auto often = [this] {
    const bool is_never = dice_.next() % 100 >= 50;
    return is_never ? 0 : static_cast<int>(dice_.next() % 80);
  };
  faults_ = {.lost = often(),
             .unheard = often(),
             .late = often(),
             .doubled = often(),
             .congested = often() / 4,
             .contended = often(),
             .unlisted = often()};
}

Duration World::up_to(Duration most) {
  return Duration::millis(
      static_cast<std::int64_t>(dice_.next() % static_cast<std::uint64_t>(most.millis() + 1)));
}

std::unique_ptr<Process> World::new_process() {
  if (volumes_.size() == 1) return new_process_of(volumes_.front());
  const std::size_t which = dice_.next() % (volumes_.size() + 1);
  return new_process_of(volumes_[which == volumes_.size() ? 0 : which]);
}

std::unique_ptr<Process> World::new_process_of(const std::string& volume) {
  std::vector<std::string> names = volumes_;
  const auto its = std::find(names.begin(), names.end(), volume);
  CHECK(its != names.end(), "a process works on a volume of its world");
  std::iter_swap(names.begin(), its);
  Process::Site site{agenda_, machines_, bucket_, faults_, "", any_skew()};
  site.machine = dice_.next() % 2 == 0 ? "here" : "there";
  return std::make_unique<Process>(std::move(site), std::move(names), ++made_, dice_.next());
}

void World::run_alone_on(const std::string& volume, const Work& work) {
  const Faults before = std::exchange(faults_, {});
  const std::unique_ptr<Process> process = new_process_of(volume);
  process->start(work(*process));
  while (!process->has_ended()) agenda_.step();
  faults_ = before;
}

void World::kill(Process& process) {
  oracle_.is_dead(process.number());
  process.kill();
}

void World::make_volume() {
  run_alone([this](Process& process) { return make(process, oracle_); });
}

void World::settle() {
  wait(Duration::seconds(300));
  const std::size_t rounds = volumes_.size() + 1;  // What a clone lets go of goes with the next.
  for (std::size_t round = 0; round < rounds; ++round) {
    on_each_volume([this](Process& process) { return collect_the_rest(process, oracle_); });
  }
  if (violation().empty()) oracle_.check_end();
  on_each_volume([this](Process& process) { return expect_nothing_to_do(process, oracle_); });
}

void World::on_each_volume(const Work& work) {
  for (const std::string& volume : std::views::reverse(volumes_)) {
    if (violation().empty()) run_alone_on(volume, work);
  }
}

void World::drop_ended(Processes& processes) {
  std::erase_if(processes, [this](const auto& process) {
    if (process->has_ended()) oracle_.is_dead(process->number());
    return process->has_ended();
  });
}

void World::kill_all(Processes& processes) {
  for (const auto& process : processes) {
    if (!process->has_ended()) kill(*process);
  }
  processes.clear();
}

void World::wait(Duration length) {
  bool there = false;
  agenda_.after(length, [&there] { there = true; });
  while (!there) agenda_.step();
}

}  // namespace runnel::volume_sim
