#pragma once

#include <string>

#include "base/result.h"
#include "output/paths.h"
#include "runner/runner.h"

namespace runnel::home {

// The layout of a home: the only place that knows it.
struct Home {
  std::string root;  // Absolute.

  std::string socket() const { return root + "/daemon.sock"; }
  std::string mounts_socket() const { return root + "/mounts.sock"; }
  std::string mounts_lock() const { return root + "/mounts.lock"; }  // Of who serves them.
  std::string mounts_log() const { return root + "/mounts.log"; }
  std::string lock() const { return root + "/daemon.lock"; }
  std::string daemon_log() const { return root + "/daemon.log"; }
  std::string log_lines() const { return root + "/daemon.jsonl"; }  // daemon_log.h, as the next.
  std::string older_log_lines() const { return root + "/daemon.1.jsonl"; }
  std::string failure() const { return root + "/daemon.failed"; }  // Why the last start failed.
  std::string event_log() const { return root + "/log"; }
  std::string inode_reserve() const { return root + "/inode-reserve"; }
  std::string jobs() const { return root + "/jobs"; }
  std::string trash() const { return root + "/trash"; }  // What is being removed.
  std::string secrets() const { return root + "/secrets"; }
  std::string job_folder(const std::string& job) const { return jobs() + "/" + job; }
  std::string shared_folder(const std::string& job) const { return job_folder(job) + "/shared"; }
  std::string tasks_folder(const std::string& job) const { return job_folder(job) + "/tasks"; }
  std::string nodes_file() const { return root + "/nodes.yaml"; }
  std::string local_devices() const { return root + "/local_devices.json"; }
  std::string version() const { return root + "/version"; }
  std::string place() const { return root + "/place.json"; }   // place.h
  std::string identity() const { return root + "/identity"; }  // jobs_owner.h, as the next.
  std::string jobs_mark() const { return root + "/jobs/.home.json"; }
  std::string runner() const { return runner::runner_folder(root); }
  std::string volumes() const { return root + "/volumes"; }
  std::string writing() const { return root + "/writing"; }  // Logs of mounts that are written to.
  std::string volumes_file() const { return root + "/volumes.json"; }  // volume_places.h
  std::string synced_file() const { return root + "/synced.json"; }    // synced_folders.h
  std::string time() const { return root + "/time.json"; }
};

// The layout's version, written into each home.
inline constexpr int kHomeVersion = 1;

// --home, else RUNNEL_HOME, else the home whose socket RUNNEL_API names, as in a task, else
// ~/.runnel; made absolute. Touches nothing.
Result<Home> find_home(const std::string& flag);

// Refuses a home that a newer version has written, with a remedy. A home without a version is new.
Result<void> check_version(const Home& home);

// Makes the folders where they are missing, and closes them to other users (close_home.h). Refuses,
// with a remedy, a home on a network file system, of a newer version, or that cannot be written.
// Returns what a person should know of it, or "".
Result<std::string> prepare_home(const Home& home);

// kUnavailable, with a remedy, when nobody says within a few seconds whether the home is there: it
// lies on a mount that is dead, and what looks into it hangs.
Result<void> refuse_silent_home(const Home& home);
// The same of the folders in it, before they are walked: a mount may lie over one of them.
Result<void> refuse_silent_folders(const Home& home);

// kUnavailable, with a remedy, when the home's disk takes no change within a few seconds: what
// would wait for it hangs, and cannot be killed.
Result<void> refuse_silent_disk(const Home& home);

// kCorrupt, with a remedy, when something that is no file, or a link, stands where the home keeps
// one: opening it would wait for its other end, or fail without a word of what to do.
Result<void> refuse_misplaced(const Home& home);

// kCorrupt, with a remedy, when there are files of jobs and nothing at all of the log that told of
// them: a home's first job comes after its log.
Result<void> refuse_lost_log(const Home& home);

// kDenied or kIo, with a remedy, when the home's folder cannot be changed.
Result<void> refuse_unwritable(const Home& home);

// Holds inodes for a daemon that is to begin when the home's disk has none left, or gives them up
// to one that does. Its caller has the home's lock.
void keep_inodes(const Home& home);

// kFull, with a remedy, when the home's disk has too little space or too few inodes for a daemon
// and its jobs.
Result<void> refuse_full_disk(const Home& home);

}  // namespace runnel::home
