#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/async.h"
#include "async/event_loop.h"
#include "volume/chunk_packs.h"
#include "volume/manifest.h"
#include "volume/pack.h"
#include "volume/volume.h"
#include "writing/branch.h"
#include "writing/content_store.h"

namespace runnel::writing {

// Makes versions of what was changed in a branch. docs/design/branch_publish.md.
//
// Contract: each step may be done again: whoever is killed at any of them leaves the version before
//           or the new one, and settle() of the next life finds out which. Programs may change the
//           branch meanwhile: a version has what was there at its barrier. One at a time.
// Threads:  the loop's; files are hashed and packed on a thread "volume-publish".
// Lifetime: what it is given outlives it. The volume has a writing session while it publishes.
class Publisher {
 public:
  enum class Where : std::uint8_t {
    kNewest,  // What is published is the newest version of the volume,
    kBranch   // or what the branch has that is the volume's session, and nobody's version.
  };
  struct Options {
    Where where = Where::kNewest;
    std::uint64_t pack_bytes = volume::kPackBytesTarget;
    // Called with what the branch is over from the same turn on, or, where its log has failed,
    // soon.
    std::function<void(const volume::Manifest&)> rebase = [](const volume::Manifest&) {};
  };
  Publisher(async::EventLoop& loop, volume::Volume& volume, Branch& branch)
      : Publisher(loop, volume, branch, Options()) {}
  Publisher(async::EventLoop& loop, volume::Volume& volume, Branch& branch, Options options)
      : loop_(loop), volume_(volume), branch_(branch), options_(std::move(options)) {}

  // The version that the branch has become, with all that was committed when it was called; none
  // when there was nothing to publish. kConflict when somebody else has published another one.
  // After an error what was begun is frozen: the next publish() goes on with it first.
  Async<std::optional<volume::Manifest>> publish(std::string message);
  // Called when a head is about to be swapped that is to have the tag.
  using ChooseTag = std::function<std::string()>;
  // The same as a version of its own under a tag, for a branch that does not go on from the newest
  // version any more. The branch is over it afterwards; none when there was nothing to publish.
  // kNotFound when the version that the branch is over is gone.
  Async<std::optional<volume::Manifest>> publish_aside(std::string message, ChooseTag choose);
  // After a replay: ends what an earlier life had begun to publish, if it came through.
  Async<void> settle();
  // Branch::begin_anew(), also while something is frozen: of a publish that had no answer it finds
  // out what became of it. To be called when the log has failed.
  Async<void> begin_anew();
  // The packs of what is being published: Volume's KeysInUse, for whoever keeps its session.
  std::set<std::string> in_use() const;

 private:
  // What a version has beside its index.
  struct Stored {
    volume::Manifest base;  // What is kept of it is as it is there.
    volume::NewChunks chunks;
    std::int64_t packed = 0;  // Bytes of packs.
  };

  // Files that are stored together.
  struct ShortFiles {
    std::vector<Inode> inodes;
    std::vector<std::vector<DataRange>> ranges;  // Of each of them.
    std::uint64_t bytes = 0;
  };

  Async<void> fence(std::uint64_t barrier);
  Async<void> append(Change change);
  Async<void> append_published(std::uint64_t barrier, volume::Manifest manifest);
  // `choose`: as publish_aside() has it; empty: it is to be the newest.
  Async<std::optional<volume::Manifest>> publish_to(ChooseTag choose, std::string message);
  Async<volume::Manifest> publish_frozen(ChooseTag choose, std::string message);
  Async<Stored> store_contents_of_newest();
  Async<Stored> store_contents(volume::Snapshot base);
  Async<bool> is_over_another(Error error, std::int64_t generation);
  Async<void> store_files(volume::Snapshot& base, ContentStore& store);
  Async<void> store_shorts(ContentStore& store, ShortFiles files);
  Async<volume::Manifest> put(ChooseTag choose, std::string message);
  Async<volume::Manifest> put_version(std::string message);
  Async<volume::Manifest> put_aside(ChooseTag choose, std::string message);
  Async<volume::Manifest> put_in_branch(std::string message);
  Async<volume::Manifest> put_index(volume::Snapshot& base, const volume::InodeEdit& edit,
                                    const Stored& stored, std::string message);
  Async<void> tell_publishing(const std::string& before, const std::string& version);
  Async<volume::Manifest> come_through(std::string before);
  // The version, where it is published; none: it is not.
  Async<std::optional<volume::Manifest>> find_published(std::string version);

  async::EventLoop& loop_;
  volume::Volume& volume_;
  Branch& branch_;
  const Options options_;
  StoredContents contents_;              // Of what is being published,
  volume::ChunkPacks* packs_ = nullptr;  // and those who store it.
  std::uint64_t fenced_ = 0;             // A barrier of which nothing is on its way.
};

}  // namespace runnel::writing
