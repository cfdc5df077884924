#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>

#include "async/async.h"
#include "async/event_loop.h"
#include "volume/manifest.h"
#include "volume/pack.h"
#include "volume/volume.h"
#include "writing/content_store.h"
#include "writing/overlay.h"
#include "writing/write_log.h"

namespace runnel::writing {

// Makes versions of what was changed in a branch. docs/design/branch_publish.md.
//
// Contract: each step may be done again: whoever is killed at any of them leaves the version before
//           or the new one, and settle() of the next life finds out which. Programs may change the
//           branch meanwhile: a version has what was there at its barrier. One at a time.
// Threads:  the loop's; files are hashed and packed on a thread "volume-publish".
// Lifetime: what it is given outlives it. The volume has a writing session for as long.
class Publisher {
 public:
  struct Branch {
    WriteLog& log;
    Overlay& overlay;
    ContentStore::ReadData read;  // Bytes of the log, and of files beside it.
  };

  Publisher(async::EventLoop& loop, volume::Volume& volume, Branch branch,
            std::uint64_t pack_bytes = volume::kPackBytesTarget)
      : loop_(loop), volume_(volume), branch_(std::move(branch)), pack_bytes_(pack_bytes) {}

  // The version that the branch has become; none when there was nothing to publish. kConflict when
  // somebody else has published another one. After an error what was begun is frozen: the next
  // publish() goes on with it.
  Async<std::optional<volume::Manifest>> publish(std::string message);
  // After a replay: ends what an earlier life had begun to publish, if it came through.
  Async<void> settle();

 private:
  Async<void> append(Change change);
  Async<volume::Manifest> publish_frozen(std::string message);
  Async<volume::Manifest> store(volume::Snapshot& base, std::string message);
  Async<StoredContents> store_files(volume::Snapshot& base, ContentStore& store);
  Async<void> put_newest(const volume::Manifest& base, volume::Manifest manifest);
  bool has_published(const std::string& version) const;

  async::EventLoop& loop_;
  volume::Volume& volume_;
  const Branch branch_;
  const std::uint64_t pack_bytes_;
  std::set<std::string> in_use_;  // The packs of what is being published.
};

}  // namespace runnel::writing
