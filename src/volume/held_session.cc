#include "volume/held_session.h"

#include <algorithm>
#include <utility>

#include "volume/condemned.h"

namespace runnel::volume {
namespace {

Error is_gone(const VersionPlace& place) {
  return Error(Errc::kNotFound, "version " + place.version + " was dropped from the volume")
      .with_value(place.version);
}

std::string newest_key(const Head& head) {
  return head.newest() == nullptr ? "" : head.newest()->key;
}

}  // namespace

HeldSession::HeldSession(HeadRegister& head, object::ObjectStore& store, std::string prefix,
                         Session session, async::StopToken stop)
    : head_(&head),
      store_(&store),
      prefix_(std::move(prefix)),
      stop_(std::move(stop)),
      session_(std::move(session)) {}

Async<HeldSession> HeldSession::for_writing(HeadRegister& head, object::ObjectStore& store,
                                            env::Random& random, std::string prefix,
                                            SessionRecord who, async::StopToken stop) {
  who.writes = true;
  who.pin = newest_key(head.head());
  who.collections = head.head().collections;
  Session begun = CO_TRY(co_await Session::begin(store, random, prefix, std::move(who), stop));
  HeldSession held(head, store, std::move(prefix), std::move(begun), std::move(stop));
  while (true) {
    CO_TRY(co_await head.load());
    const SessionRecord& record = held.session_.record();
    const std::string newest = newest_key(head.head());
    if (record.pin == newest && record.collections == head.head().collections) co_return held;
    CO_TRY(co_await held.pin(newest));
  }
}

Async<HeldSession> HeldSession::for_reading(HeadRegister& head, object::ObjectStore& store,
                                            env::Random& random, std::string prefix,
                                            SessionRecord who, VersionPlace place,
                                            async::StopToken stop) {
  who.pin = place.key;
  who.collections = head.head().collections;
  Session begun = CO_TRY(co_await Session::begin(store, random, prefix, std::move(who), stop));
  HeldSession held(head, store, std::move(prefix), std::move(begun), std::move(stop));
  while (true) {
    CO_TRY(co_await head.load());
    if (!head.head().holds(place.key)) {
      CO_TRY(co_await held.end());
      co_return is_gone(place);
    }
    if (held.session_.record().collections == head.head().collections) co_return held;
    CO_TRY(co_await held.pin(place.key));
  }
}

Async<void> HeldSession::pin(std::string manifest_key) {
  SessionRecord next = session_.record();
  next.pin = std::move(manifest_key);
  next.collections = head_->head().collections;
  return session_.replace(std::move(next));
}

Async<void> HeldSession::check(KeysInUse keys) {
  const Head head = head_->head();
  const std::int64_t known = session_.record().collections;
  if (head.collections == known) co_return {};
  const Result<Condemned> list = co_await load_condemned(*store_, prefix_ + head.condemned, stop_);
  if (!list.ok() && list.error().code == Errc::kNotFound) {
    co_return Error(Errc::kGone, "the head has moved on").with_value(head.condemned);
  }
  const Condemned last = CO_TRY(Result<Condemned>(list));
  if (last.live.contains(session_.tag())) co_return {};
  // The list may have been made before this session began; one that nobody knows any more may
  // have named anything.
  if (head.collections != known + 1) co_return session_.is_lost();
  std::set<std::string> used = keys();
  used.insert(session_.record().pin);
  const auto is_condemned = [&](const std::string& key) { return last.keys.contains(key); };
  if (std::any_of(used.begin(), used.end(), is_condemned)) co_return session_.is_lost();
  co_return {};
}

Async<void> HeldSession::keep(KeysInUse keys) {
  while (true) {
    CO_TRY(co_await head_->load());
    Result<void> checked = co_await check(keys);
    if (!checked.ok() && checked.error().code == Errc::kGone) continue;
    CO_TRY(std::move(checked));
    co_return co_await pin(session_.record().pin);
  }
}

}  // namespace runnel::volume
