#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "output/job_output.h"
#include "runner/journal.h"
#include "runner/memory_limit.h"
#include "runner/message.h"
#include "runner/orphans.h"
#include "runner/place.h"
#include "runner/process_tree.h"
#include "runner/spawn.h"

namespace runnel::runner {

struct SupervisorOptions {
  std::string home;
  std::string boot;  // Boot id of the machine.
  Incarnation incarnation;
  std::string key;  // Starts each RUNNEL_ATTEMPT_KEY; unique to this life of the runner.
  std::string home_token;
  std::optional<rlimit> open_files;  // Given to the processes instead of our own,
  std::optional<mode_t> file_mask;   // as is this umask.
};

// Starts attempts, ends them, and keeps what came of them until it is forgotten.
//
// Contract: attempts of one lane run one after another in the order of start(). Each fact about a
//           rank appears once in take_news() and, until forget(), in inventory(). The caller must
//           be a child subreaper, deliver SIGCHLD by reap(), time by tick(), and call flush()
//           before it waits.
// Threads:  the runner's only.
// Limits:   kPlacesMax queued and running, kEndedMax records not forgotten: more is answered with
//           kNotStarted.
// Why:      everything that must outlive the daemon and nothing else; no JSON, no socket.
class Supervisor {
 public:
  static constexpr std::size_t kPlacesMax = 65'536;
  static constexpr std::size_t kEndedMax = 500'000;
  static constexpr Duration kDrainMax = Duration::seconds(2);
  static constexpr Duration kLookEvery = Duration::millis(500);
  static constexpr Duration kDrainLookEvery = Duration::millis(20);
  static constexpr Duration kSpawnRetryEvery = Duration::millis(100);
  static constexpr Duration kSpawnRetryMax = Duration::seconds(30);
  static constexpr Duration kDiskRetryEvery = Duration::seconds(1);
  static constexpr Duration kJobIdleMax = Duration::seconds(5);
  static constexpr int kBeginsPerTurn = 64;
  static constexpr std::size_t kJournalRestMax = 64 * 1024;
  // A pid may be written this late: without it the process is found by its environment.
  static constexpr Duration kPidsWithin = Duration::millis(50);

  Supervisor(SupervisorOptions options, Journal journal);

  // Records of a dead runner, ended by now.
  void adopt(const std::vector<RankFact>& ended);
  // From here on the journal is ours.
  Result<void> open() { return journal_.commit(); }

  void start(PlaceStart start);
  void stop(const PlaceStop& stop);
  void forget(const AttemptOnNode& of);
  void remove_job(const JobId& job);
  // Ends everything: the runner itself is asked to go.
  void end_all();

  void reap();
  void tick();
  // Boot clock of the next tick() that has something to do; zero: none.
  Duration next_tick() const;
  // Writes it anew where its file was lost, in a home that is still in its place.
  Result<void> restore_journal();
  void flush();

  std::vector<RankFact> take_news();
  bool has_news() const { return !news_.empty(); }
  std::vector<RankFact> inventory() const;
  bool idle() const { return places_.empty(); }
  bool holds_records() const { return !ended_.empty(); }
  // Ends the journal: removes it when nothing is left in it.
  void close();

 private:
  using LaneKey = std::pair<NodeId, LaneId>;
  using PlaceKey = AttemptOnNode;
  struct Lane {
    std::deque<Place*> queue;
    Place* running = nullptr;
  };
  struct Job {
    Job(output::JobOutput opened, TaskFolders made)
        : output(std::move(opened)), folders(std::move(made)) {}
    output::JobOutput output;
    TaskFolders folders;
    int places = 0;
    Duration idle_since;
  };
  struct Ended {
    std::uint64_t number = 0;
    std::vector<RankFact> ranks;
  };
  struct RankAt {
    Place* place = nullptr;
    RankRun* rank = nullptr;
  };

  // Life of a place.
  void refuse(const PlaceStart& start, const std::string& message);
  void withdraw(Place& place, const std::string& message, model::EndCause cause);
  void run_lanes();
  void advance(const LaneKey& key);
  enum class Begun : std::uint8_t { kYes, kLater };
  Begun begin(Place& place);
  bool is_disk_full() const;
  Result<void> prepare(Place& place);
  void unprepare(Place& place);
  void lend_memory(Place& place);
  void finish_rank(Place& place, RankRun& rank);
  void finish_place(Place& place);
  void record_end(Place& place, RankRun& rank);

  // Starting processes.
  void spawn_waiting(Place& place);
  void spawn_rank(Place& place, RankRun& rank);
  void spawned(Place& place, RankRun& rank, pid_t pid);
  void not_spawned(Place& place, RankRun& rank, const SpawnOutcome& outcome);
  FoundProgram program_of(const PlaceStart& start);
  TextBlock own_variables(const Place& place, const RankRun& rank) const;

  // Ending them.
  void end_place(Place& place, model::EndCause cause, std::string message, Duration grace);
  void kill_place(Place& place);
  void signal_place(Place& place, int signal_number);
  void process_ended(pid_t pid);
  void leader_ended(Place& place, RankRun& rank, int status);
  void tell_over_limit(Place& place, model::RankReport& report);
  void tell_full_disk(const Place& place, model::RankReport& report);
  void settle();
  void look_for_orphans();
  bool settle_draining();
  bool drained(const Place& place, RankRun& rank) const;

  // Time.
  void reschedule(Place& place);
  void place_due(Place& place, Duration now);
  void look_at_running(Duration now);
  void watch_memory(Place& place);
  void drop_idle_jobs(Duration now);

  Result<Job*> job_of(const JobId& id);
  void release_job(const JobId& id);
  Result<void> flush_for(Place& place);
  Result<void> rewrite_journal();
  void news(RankRun& rank);

  SupervisorOptions options_;
  Journal journal_;
  MemoryGroups memory_groups_;
  async::UniqueFd null_;
  Orphans orphans_;
  std::map<PlaceKey, std::unique_ptr<Place>> places_;
  std::unordered_map<std::uint64_t, Place*> by_number_;
  std::map<LaneKey, Lane> lanes_;
  std::unordered_map<pid_t, RankAt> pids_;
  std::map<PlaceKey, Ended> ended_;
  std::map<JobId, std::unique_ptr<Job>> jobs_;
  std::set<std::pair<Duration, std::uint64_t>> deadlines_;
  std::set<std::uint64_t> running_;   // Numbers of started places, oldest first.
  std::set<std::uint64_t> draining_;  // Those with a rank that drains.
  std::set<LaneKey> ready_lanes_;     // May start their next place.
  std::set<LaneKey> blocked_lanes_;   // Wait for room on the disk.
  std::vector<RankFact> news_;
  std::uint64_t news_turn_ = 1;  // Grows with each take_news().
  std::uint64_t next_number_ = 1;
  std::size_t live_leaders_ = 0;
  Duration look_at_;  // Next look at logs and memory of what runs.
  Duration disk_retry_at_;
  Duration pids_at_;  // When pids are written that nothing else has taken along; zero: none wait.
  bool end_unwritten_ = false;  // The journal has more than pids to write.
  bool sweep_needed_ = false;
  // The last program looked up: the tasks of a step all run the same.
  struct {
    std::string name;
    std::string search_path;
    std::string workdir;
    std::string file;
  } program_;
};

}  // namespace runnel::runner
