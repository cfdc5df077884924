#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "async/stop_token.h"
#include "base/result.h"
#include "object/object_store.h"

namespace runnel::volume {

// A list of garbage: what may be deleted once the head names the list, and which sessions were
// there when it was made. docs/design/volume_gc.md.
struct Condemned {
  std::set<std::string> keys;  // Below the volume's prefix.
  // What each session that was alive pinned, by its tag: neither that nor what the session had put
  // is among the keys.
  std::map<std::string, std::string> live;

  friend bool operator==(const Condemned&, const Condemned&) = default;

  // Whether a session was alive with this pin. A late request may bring a session back as it was at
  // first, and then only what it pinned at first was kept.
  bool has_live(const std::string& tag, const std::string& pin) const;
};

inline constexpr std::int64_t kCondemnedBytesMax = 256 << 20;

std::string condemned_key(std::string_view nonce);  // "g/..."
std::string encode_condemned(const Condemned& condemned);
// kCorrupt for what is no list of garbage, or names what is no object of a volume.
Result<Condemned> decode_condemned(std::string_view text);
// `key`: with the volume's prefix. None: it is lost, or damaged.
Async<std::optional<Condemned>> find_condemned(object::ObjectStore& store, std::string key,
                                               async::StopToken stop);

}  // namespace runnel::volume
