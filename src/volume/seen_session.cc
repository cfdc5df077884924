#include "volume/seen_session.h"

#include <string_view>
#include <utility>

#include "volume/digits.h"

namespace runnel::volume {
namespace {

constexpr std::string_view kProbe = "probe-";

// "0123456789abcdef", or that of a probe.
bool is_name_of_session(std::string_view name) {
  if (name.starts_with(kProbe)) name.remove_prefix(kProbe.size());
  return number_of(name).ok();
}

}  // namespace

Async<std::vector<SeenSession>> see_sessions(object::ObjectStore& store, std::string prefix,
                                             async::StopToken stop) {
  const std::string folder = prefix + "s/";
  std::vector<SeenSession> seen;
  for (std::string after;;) {
    object::ListPage page = CO_TRY(co_await store.list(folder, after, stop));
    for (const object::Listed& each : page.objects) {
      if (!is_name_of_session(std::string_view(each.key).substr(folder.size()))) continue;
      Result<object::Object> object = co_await store.get(each.key, kSessionBytesMax, stop);
      if (!object.ok() && object.error().code == Errc::kNotFound) continue;  // It has ended.
      SeenSession session{each.key, CO_TRY(std::move(object)).bytes, std::nullopt};
      session.is_probe = std::string_view(each.key).substr(folder.size()).starts_with(kProbe);
      if (Result<SessionRecord> record = decode_session(session.bytes); record.ok()) {
        session.record = *std::move(record);
      }
      seen.push_back(std::move(session));
    }
    if (!page.more) co_return seen;
    after = *std::move(page.more);
  }
}

}  // namespace runnel::volume
