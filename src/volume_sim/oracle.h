#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/agenda.h"
#include "volume/head.h"
#include "volume/manifest.h"
#include "volume_sim/bucket.h"

namespace runnel::volume_sim {

inline constexpr const char* kVolume = "data";

// What must hold of a volume whatever happens, looked at before each change of the bucket:
//   1. what the head's versions reach, what a put may take over, and what a reader pins whose
//      session is there, exists, and is on no list of garbage;
//   2. heads follow one another: one generation each, a version over the newest one;
//   3. nothing that was deleted is referred to again;
//   4. a session is removed by its owner, or after it stood still for Session::kTtl;
//   5. a version has the same files whoever reads it, whenever.
// It sees the bucket and what processes have been told, never what they think.
//
// Threads: one.
class Oracle {
 public:
  Oracle(const Agenda& agenda, const Bucket& bucket);
  ~Oracle();

  void changes(const Bucket::Change& change);
  // The process was killed or has ended: a session of its that is there is nobody's.
  void is_dead(std::uint64_t process) { dead_.insert(process); }

  // A reader has been told that it holds a version under this session.
  void holds(const std::string& session, const std::string& manifest_key);
  // A reader is done with its session.
  void lets_go(const std::string& session);
  bool has_session(const std::string& session) const;
  // A put has been told that this version is published.
  void told_published(const std::string& version);
  // All files of a version with their hashes, as a reader saw them.
  using Files = std::map<std::string, std::string>;
  void saw(const std::string& version, const Files& files);
  void found_wrong(std::string what);

  // After the last process has ended, and two gcs: nothing is there that nobody needs.
  void check_end();

  const std::string& violation() const { return violation_; }
  std::int64_t publishes() const { return publishes_; }
  std::int64_t collections() const { return collections_; }

 private:
  class Reach;
  using Keys = std::set<std::string>;

  void check_head(const Bucket::Stored* before, const Bucket::Stored& after);
  void check_list(const volume::Head& head);
  void check_removal(const Bucket::Change& change);
  void check_reach(const std::string& manifest_key, bool with_chunks);
  const Keys& reach(const std::string& manifest_key, bool with_chunks);
  bool is_needed(const std::string& key);
  volume::Head head() const;

  const Agenda& agenda_;
  const Bucket& bucket_;
  std::unique_ptr<Reach> reach_;
  std::map<std::string, std::string> held_;      // Manifest keys, by the readers' sessions.
  std::map<std::string, std::uint64_t> owners_;  // Of sessions: processes.
  std::set<std::uint64_t> dead_;
  std::map<std::string, Time> stood_still_;  // When a session went on that had been still for long.
  Keys removed_;
  Keys versions_;  // Ever the newest.
  std::map<std::string, Files> files_;
  std::string violation_;
  std::int64_t publishes_ = 0;
  std::int64_t collections_ = 0;
};

}  // namespace runnel::volume_sim
