#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/units.h"

namespace runnel::agent {

// How far a blocking read of a folder goes.
enum class Reach : std::uint8_t { kFolder, kBelow };

// Follows a path link by link, and says how far it came: what hangs does so there.
//
// Contract: follow() blocks, and may be called again for the next path; place() at any time.
// Threads:  follow() on one, place() on any.
class PathTrail {
 public:
  struct Place {
    std::string path;  // Real, but for what of it is asked of the system just now.
    bool arrived = false;
  };
  explicit PathTrail(std::string path) : place_{std::move(path), false} {}
  void follow(std::string path);
  Place place() const;

 private:
  void set(Place place);

  mutable std::mutex mutex_;
  Place place_;
};

// The places of all mounts, as the kernel says; asks none of them.
std::vector<std::string> mounted_places();

// Whether nobody serves what is mounted in the folder any more. Asks who does, and blocks until
// there is an answer.
bool is_dead_mount(const std::string& folder);

// Which of `mounts` a read touches that never answers: those at the real path or below it where it
// goes as far, or else the one that the path lies on.
std::vector<std::string> suspect_mounts(const std::string& real_path, Reach reach,
                                        const std::vector<std::string>& mounts);

// Those strictly below the folder, each once.
std::vector<std::string> mounts_below(const std::string& folder,
                                      const std::vector<std::string>& mounts);

// "/a", or "one of /a, /b": at least one is given.
std::string names_of(const std::vector<std::string>& suspects);
// How to be rid of one that never answers again.
std::string unmount_text(const std::vector<std::string>& suspects);

// kUnavailable: names the suspects, or `folder` where there are none, and what to do.
Error silence_of(const std::string& folder, const std::vector<std::string>& suspects, Time since);

}  // namespace runnel::agent
