#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/agenda.h"
#include "base/split_mix.h"
#include "volume_sim/bucket.h"
#include "volume_sim/oracle.h"
#include "volume_sim/process.h"

namespace runnel::volume_sim {

// Volumes in a bucket, the oracle that looks at each change of it, and processes, in virtual time.
//
// Threads: one.
class World {
 public:
  using Work = std::function<Async<void>(Process&)>;

  // All chance comes from `dice`, which outlives it. `told`: each change goes to stdout.
  World(SplitMix64& dice, bool told);

  Agenda& agenda() { return agenda_; }
  Oracle& oracle() { return oracle_; }
  Faults& faults() { return faults_; }
  const std::string& violation() const { return oracle_.violation(); }
  std::uint64_t hash() const { return hash_; }  // Of all that happened to the bucket.
  // How often this process has changed the bucket.
  std::int64_t changes_by(const Process& process) { return changes_[process.number()]; }

  // The volumes that processes work on, of which the first is there from the beginning.
  const std::vector<std::string>& volumes() const { return volumes_; }
  void set_volumes(std::vector<std::string> names);

  // Some while; at most `most`.
  Duration up_to(Duration most);
  // What a machine's time of day is wrong by.
  Duration any_skew() { return up_to(Duration::hours(2)) - Duration::hours(1); }
  // Of a volume by chance, the first one twice as often as any other.
  std::unique_ptr<Process> new_process();
  std::unique_ptr<Process> new_process_of(const std::string& volume);
  // Runs one process, of the first volume or of this one, to its end, without faults.
  void run_alone(const Work& work) { run_alone_on(volumes_.front(), work); }
  void run_alone_on(const std::string& volume, const Work& work);
  void kill(Process& process);
  using Processes = std::vector<std::unique_ptr<Process>>;
  // Those that have ended are no more.
  void drop_ended(Processes& processes);
  // None is left.
  void kill_all(Processes& processes);
  void wait(Duration length);

  // How bad the network is, by chance.
  void draw_faults();
  void make_volume();
  // When no process is left: what is late arrives, and after two gcs of each volume, those of
  // clones first, nothing is left behind.
  void settle();

 private:
  void on_each_volume(const Work& work);
  void note(const Bucket::Change& change);

  SplitMix64& dice_;
  const bool told_;
  std::vector<std::string> volumes_{"data"};
  Agenda agenda_;
  Machines machines_;
  std::shared_ptr<Bucket> bucket_;
  Oracle oracle_;
  Faults faults_;
  std::uint64_t made_ = 0;  // Processes.
  std::map<std::uint64_t, std::int64_t> changes_;
  std::uint64_t hash_ = 0;
};

}  // namespace runnel::volume_sim
