#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "volume/extent.h"
#include "volume/manifest.h"
#include "volume/tree.h"

namespace runnel::volume {

// The objects that versions of a volume reach, by keys below its prefix, with the living bytes of
// its packs. What several versions share is walked once.
//
// Threads: the loop's only.
class Marks {
 public:
  enum class Missing : std::uint8_t {
    kError,   // A version of the head: its pages are all there, or the volume is damaged.
    kIgnore,  // A pin may be one of a version that is gone.
  };

  enum class Chunks : std::uint8_t {
    kNone,
    kPages,  // The tree of chunks itself,
    kAll,    // and what puts may take over from it.
  };

  // A version.
  Async<void> add(PageSource& pages, Manifest manifest, Chunks chunks, Missing missing);
  void add_key(std::string key) { keys_.insert(std::move(key)); }
  bool has(const std::string& key) const { return keys_.contains(key); }
  const std::set<std::string>& keys() const { return keys_; }

  // Whether a file needs the chunk at this place.
  bool lives(const Extent& extent) const;
  // What files need of each pack.
  struct Living {
    std::uint64_t bytes = 0;  // Stored.
    std::uint64_t chunks = 0;
  };
  const std::map<ObjectId, Living>& packs() const { return packs_; }

 private:
  class Visitor;

  std::set<std::string> keys_;
  std::set<std::pair<ObjectId, std::uint64_t>> pages_;   // Walked, by bundle and offset.
  std::set<std::pair<ObjectId, std::uint64_t>> chunks_;  // Of files, by pack and offset.
  std::map<ObjectId, Living> packs_;
};

}  // namespace runnel::volume
