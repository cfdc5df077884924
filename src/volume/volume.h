#pragma once

#include <memory>
#include <optional>
#include <string>

#include "async/stop_token.h"
#include "env/clock.h"
#include "env/random.h"
#include "object/object_store.h"
#include "volume/edit.h"
#include "volume/head.h"
#include "volume/manifest.h"
#include "volume/store_pages.h"

namespace runnel::volume {

// What versions are made with.
struct VolumeContext {
  object::ObjectStore& store;
  env::Clock& clock;
  env::Random& random;
  async::StopToken stop;
};

// A volume in its store: its head, its versions, and how a version is added. docs/design/volume.md.
//
// Contract: nothing but the store is kept: whoever opens a volume sees what others published. A
//           version is published by one swap of the head, and whatever becomes of the answer,
//           publish() says whether it was: an unknown outcome is settled by what the head has then.
// Threads:  the loop's only.
// Lifetime: what the context refers to outlives it.
class Volume {
 public:
  static constexpr std::size_t kPagesMemory = 32 << 20;
  static constexpr int kSwapsMax = 100;  // Of a head that others swap, too, before giving up.

  // kConflict when there is one of the name already; kUnsupported when the store ignores
  // conditions.
  static Async<Volume> create(VolumeContext context, std::string name);
  // kNotFound when there is none.
  static Async<Volume> open(VolumeContext context, std::string name);

  const std::string& name() const { return name_; }
  const Head& head() const { return head_; }
  // Reads the head again: what others have published since.
  Async<void> refresh();

  // A version: "latest", a tag, an id, or the beginning of one id. kNotFound, or kInvalid for a
  // beginning of several. Of an empty volume "latest" is a version without files.
  Async<Snapshot> snapshot(std::string version);

  // Publishes the newest version changed by the edit, whose chunks are all put. When somebody else
  // publishes meanwhile, the edit is applied to theirs. The version that it became; no new one when
  // it changes nothing.
  Async<Manifest> publish(const Edit& edit, const NewChunks& chunks, std::int64_t packed,
                          std::string message);

  // A name that no object has had.
  ObjectId new_object_id(std::string_view bytes);
  Async<void> put_object(std::string key, std::string bytes);
  object::ObjectStore& store() { return context_.store; }
  const std::string& prefix() const { return prefix_; }

 private:
  Volume(VolumeContext context, std::string name);

  Async<void> load_head();
  Async<Manifest> load_manifest(VersionPlace place);
  Result<VersionPlace> place_of(const std::string& version) const;
  Snapshot empty_snapshot();
  // The base's own when the edit changes nothing.
  Async<Manifest> manifest_of(Snapshot& base, const Edit& edit, const NewChunks& chunks,
                              std::int64_t packed, std::string message);
  Head next_head(const Manifest& manifest, const std::string& text, const std::string& key);
  enum class Swap : std::uint8_t { kDone, kLost };
  Async<Swap> swap(Head next);
  Async<Swap> settle(const Head& next);
  std::string nonce();

  VolumeContext context_;
  std::string name_;
  std::string prefix_;  // Of its keys: "NAME/".
  std::unique_ptr<StorePages> pages_;
  Head head_;
  std::string etag_;  // Of the head as it was read.
};

// A name of a volume: 1 to 63 of a-z 0-9 - _ ., beginning with a letter or digit.
Result<void> check_volume_name(std::string_view name);

}  // namespace runnel::volume
