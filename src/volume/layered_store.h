#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "object/forwarding_store.h"

namespace runnel::volume {

// A store as a clone reads it: packs and bundles of pages that are not below its own prefix are
// those of the volumes that it comes of. docs/design/volume_clone.md.
//
// Contract: whichever prefix has such an object has the right one, since names end in a nonce and
//           never come back; so the one that had the last is asked first. All other keys are its
//           own, and so is what is put, removed and listed.
// Threads:  the loop's only.
// Lifetime: `inner` outlives it.
class LayeredStore final : public object::ForwardingStore {
 public:
  // `prefixes`: the clone's own first; each ends with '/'.
  LayeredStore(object::ObjectStore& inner, std::vector<std::string> prefixes);

  Async<object::Object> get(std::string key, std::int64_t limit, async::StopToken stop) override;
  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override;

 private:
  bool is_shared(const std::string& key) const;
  template <typename T, typename Call>
  Async<T> first_found(std::string key, Call call);

  const std::vector<std::string> prefixes_;
  std::size_t last_ = 0;  // The prefix that had the last one.
};

}  // namespace runnel::volume
