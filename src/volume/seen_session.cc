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

Async<std::optional<SeenSession>> see_session(object::ObjectStore& store, std::string key,
                                              async::StopToken stop) {
  Result<object::Object> object = co_await store.get(key, kSessionBytesMax, stop);
  const bool is_gone = !object.ok() && object.error().code == Errc::kNotFound;
  if (is_gone) co_return std::optional<SeenSession>();
  object::Object there = CO_TRY(std::move(object));
  SeenSession session{std::move(key), std::move(there.bytes), std::move(there.etag)};
  if (Result<SessionRecord> record = decode_session(session.bytes); record.ok()) {
    session.record = *std::move(record);
  }
  co_return std::optional(std::move(session));
}

Async<std::vector<SeenSession>> see_sessions(object::ObjectStore& store, std::string prefix,
                                             async::StopToken stop, IsWantedName is_wanted) {
  const std::string folder = prefix + "s/";
  std::vector<SeenSession> seen;
  for (std::string after;;) {
    object::ListPage page = CO_TRY(co_await store.list(folder, after, stop));
    for (const object::Listed& each : page.objects) {
      const std::string_view name = std::string_view(each.key).substr(folder.size());
      if (!is_name_of_session(name) || (is_wanted && !is_wanted(name))) continue;
      std::optional<SeenSession> session = CO_TRY(co_await see_session(store, each.key, stop));
      if (!session) continue;  // It has ended.
      session->is_probe = name.starts_with(kProbe);
      seen.push_back(*std::move(session));
    }
    if (!page.more) co_return seen;
    after = *std::move(page.more);
  }
}

namespace {

// Whether the session says that it has ended. Not when it has changed since it was seen.
Async<bool> say_ended(object::ObjectStore& store, const SeenSession& session,
                      async::StopToken stop) {
  SessionRecord ended = *session.record;
  ended.kind = kEndedKind;
  ended.owner.clear();
  const std::string text = encode_session(ended);
  const Result<std::string> put = co_await store.put(
      session.key, object::make_body(text), object::Condition::matches(session.etag), stop);
  if (put.ok()) co_return true;
  if (put.error().code == Errc::kNotFound) co_return false;
  if (put.error().code != Errc::kPrecondition) co_return put.error();
  // A store that repeats a request by itself refuses the second one of a put that was done.
  const Result<object::Object> there = co_await store.get(session.key, kSessionBytesMax, stop);
  co_return there.ok() && there->bytes == text;
}

}  // namespace

Async<bool> remove_session(object::ObjectStore& store, SeenSession session, async::StopToken stop) {
  // What is damaged, or a probe, is nobody's to go on with.
  const bool is_ours = !session.record || CO_TRY(co_await say_ended(store, session, stop));
  if (is_ours) CO_TRY(co_await store.remove(session.key, stop));
  co_return is_ours;
}

}  // namespace runnel::volume
