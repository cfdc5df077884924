#include "volume/condemned.h"

#include <algorithm>
#include <utility>

#include "volume/object_id.h"

namespace runnel::volume {
namespace {

constexpr std::string_view kBegin = "runnel condemned 1\n";
constexpr std::string_view kEnd = "end\n";
constexpr std::string_view kLive = "live ";
constexpr std::string_view kKey = "key ";

Error is_damaged() { return Error(Errc::kCorrupt, "a list of garbage is damaged"); }

}  // namespace

bool Condemned::has_live(const std::string& tag, const std::string& pin) const {
  const auto found = live.find(tag);
  return found != live.end() && found->second == pin;
}

std::string condemned_key(std::string_view nonce) { return "g/" + std::string(nonce); }

std::string encode_condemned(const Condemned& condemned) {
  std::string text(kBegin);
  for (const auto& [tag, pin] : condemned.live) {
    text.append(kLive).append(tag);
    if (!pin.empty()) text.append(" ").append(pin);
    text.append("\n");
  }
  for (const std::string& key : condemned.keys) text.append(kKey).append(key).append("\n");
  return text.append(kEnd);
}

Result<Condemned> decode_condemned(std::string_view text) {
  if (!text.starts_with(kBegin) || !text.ends_with(kEnd)) return is_damaged();
  text.remove_prefix(kBegin.size());
  text.remove_suffix(kEnd.size());
  Condemned condemned;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return is_damaged();
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.starts_with(kLive)) {
      const std::string_view session = line.substr(kLive.size());
      const std::size_t blank = std::min(session.find(' '), session.size());
      const std::size_t pin = std::min(blank + 1, session.size());
      condemned.live.emplace(session.substr(0, blank), session.substr(pin));
    } else if (line.starts_with(kKey) && is_object_key(line.substr(kKey.size()))) {
      condemned.keys.emplace(line.substr(kKey.size()));
    } else {
      return is_damaged();
    }
  }
  return condemned;
}

Async<std::optional<Condemned>> find_condemned(object::ObjectStore& store, std::string key,
                                               async::StopToken stop) {
  constexpr int kLooks = 3;  // It may have been changed on its way, or a server lag behind.
  for (int looks = 0; looks < kLooks; ++looks) {
    const Result<object::Object> list = co_await store.get(key, kCondemnedBytesMax, stop);
    if (!list.ok() && list.error().code == Errc::kNotFound) continue;
    CO_TRY(Result<object::Object>(list));
    Result<Condemned> decoded = decode_condemned(list->bytes);
    if (decoded.ok()) co_return std::optional(*std::move(decoded));
  }
  co_return std::optional<Condemned>();
}

}  // namespace runnel::volume
