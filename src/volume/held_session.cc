#include "volume/held_session.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "volume/condemned.h"

namespace runnel::volume {
namespace {

std::string newest_key(const Head& head) {
  return head.newest() == nullptr ? "" : head.newest()->key;
}

std::string prefix_of(const HeadRegister& head) { return head.volume() + "/"; }

Async<Session> begin_session(HeldSession::Context context, SessionRecord who) {
  return Session::begin(context.store, context.random, prefix_of(context.head), std::move(who),
                        context.stop);
}

}  // namespace

HeldSession::HeldSession(const Context& context, Session session)
    : head_(&context.head),
      store_(&context.store),
      prefix_(prefix_of(context.head)),
      stop_(context.stop),
      session_(std::move(session)) {}

Async<HeldSession> HeldSession::for_writing(Context context, SessionRecord who) {
  const Head& head = context.head.head();
  who.writes = true;
  who.pin = newest_key(head);
  who.collections = head.collections;
  who.uuid = head.uuid;
  HeldSession held(context, CO_TRY(co_await begin_session(context, std::move(who))));
  const Result<void> holds = co_await held.hold_newest();
  if (!holds.ok()) co_return (co_await held.give_up(holds.error())).error();
  co_return held;
}

Async<void> HeldSession::hold_newest() {
  for (int looks = 0; looks < HeadRegister::kTriesMax; ++looks) {
    CO_TRY(co_await head_->load());
    const SessionRecord& record = session_.record();
    const std::string newest = newest_key(head_->head());
    const std::int64_t collections = head_->head().collections;
    looked_at_ = head_->head().condemned;
    if (record.pin == newest && record.collections == collections) co_return {};
    CO_TRY(co_await pin(newest, collections));
  }
  co_return HeadRegister::changes_too_fast(head_->volume());
}

// Who begins to use a volume that has gone leaves nothing.
Async<void> HeldSession::give_up(Error error) {
  const bool answers = error.code == Errc::kNotFound || error.code == Errc::kConflict;
  if (answers) (void)co_await end();
  co_return error;
}

namespace {

Async<std::vector<std::string>> session_keys(object::ObjectStore& store, std::string prefix,
                                             async::StopToken stop) {
  std::vector<std::string> keys;
  for (std::string after;;) {
    object::ListPage page = CO_TRY(co_await store.list(prefix + "s/", after, stop));
    for (object::Listed& object : page.objects) keys.push_back(std::move(object.key));
    if (!page.more) co_return keys;
    after = *std::move(page.more);
  }
}

// Takes over the first session that is as `who`, of the same volume, and whose process has ended.
// Without `is_wanted`: whatever it pins.
Async<std::optional<Session>> take_over_one(HeldSession::Context context, SessionRecord who,
                                            HeldSession::IsWanted is_wanted = {}) {
  const std::string prefix = prefix_of(context.head);
  const Result<std::vector<std::string>> keys =
      co_await session_keys(context.store, prefix, context.stop);
  // Keys that may not list have none to go on with.
  const bool may_not = !keys.ok() && keys.error().code == Errc::kDenied;
  if (may_not) co_return std::optional<Session>();
  for (const std::string& key : CO_TRY(Result<std::vector<std::string>>(keys))) {
    const Result<object::Object> there =
        co_await context.store.get(key, kSessionBytesMax, context.stop);
    if (!there.ok()) continue;  // It has just ended, or nobody knows whose it is.
    const Result<SessionRecord> record = decode_session(there->bytes);
    const bool is_ours = record.ok() && record->uuid == who.uuid && record->writes == who.writes &&
                         record->kind == who.kind && record->source == who.source &&
                         context.processes.has_ended(*record);
    if (!is_ours) continue;
    if (is_wanted && !CO_TRY(co_await is_wanted(record->pin))) continue;
    std::optional<Session> taken = CO_TRY(
        co_await Session::take_over(context.store, context.random, key, *there, who, context.stop));
    if (taken) co_return taken;
  }
  co_return std::optional<Session>();
}

}  // namespace

Async<std::optional<HeldSession>> HeldSession::for_going_on(Context context, SessionRecord who) {
  who.writes = true;
  who.uuid = context.head.head().uuid;
  std::optional<Session> taken = CO_TRY(co_await take_over_one(context, std::move(who)));
  if (!taken) co_return std::optional<HeldSession>();
  HeldSession held(context, *std::move(taken));
  std::set<std::string> keys;
  for (const auto& [key, size] : CO_TRY(co_await held.own_objects("p/"))) keys.insert(key);
  const Result<void> pinned = co_await held.pin_newest([keys] { return keys; });
  if (pinned.ok()) co_return std::optional(std::move(held));
  if (pinned.error().code != Errc::kConflict) co_return pinned.error();
  CO_TRY(co_await held.end());
  co_return std::optional<HeldSession>();
}

Async<std::optional<HeldSession>> HeldSession::for_reading_on(Context context, SessionRecord who,
                                                              IsWanted is_wanted) {
  who.uuid = context.head.head().uuid;
  std::optional<Session> taken =
      CO_TRY(co_await take_over_one(context, std::move(who), std::move(is_wanted)));
  if (!taken) co_return std::optional<HeldSession>();
  HeldSession held(context, *std::move(taken));
  const Result<void> kept = co_await held.keep([] { return std::set<std::string>(); });
  const bool is_lost = !kept.ok() && kept.error().code == Errc::kConflict;
  if (!is_lost) co_return std::optional(std::move(held));
  CO_TRY(co_await held.end());
  co_return std::optional<HeldSession>();
}

Async<void> HeldSession::pin_newest(KeysInUse keys) {
  for (int looks = 0; looks < HeadRegister::kTriesMax; ++looks) {
    CO_TRY(co_await head_->load());
    const Result<std::int64_t> checked = co_await check(keys);
    if (!checked.ok() && checked.error().code == Errc::kGone) continue;
    const std::int64_t collections = CO_TRY(Result<std::int64_t>(checked));
    const std::string newest = newest_key(head_->head());
    const SessionRecord& record = session_.record();
    if (record.pin == newest && record.collections == collections) co_return {};
    CO_TRY(co_await pin(newest, collections));
  }
  co_return HeadRegister::changes_too_fast(head_->volume());
}

Async<std::map<std::string, std::int64_t>> HeldSession::own_objects(std::string kind) {
  std::map<std::string, std::int64_t> sizes;
  for (std::string after;;) {
    object::ListPage page = CO_TRY(co_await store_->list(prefix_ + kind, after, stop_));
    for (const object::Listed& object : page.objects) {
      const std::string key = object.key.substr(prefix_.size());
      if (object_tag(key) == session_.tag()) sizes[key] = object.size;
    }
    if (!page.more) co_return sizes;
    after = *std::move(page.more);
  }
}

Async<HeldSession> HeldSession::for_reading(Context context, SessionRecord who,
                                            VersionPlace version) {
  const Head& head = context.head.head();
  who.pin = version.key;
  who.collections = head.collections;
  who.uuid = head.uuid;
  HeldSession held(context, CO_TRY(co_await begin_session(context, std::move(who))));
  const Result<void> holds = co_await held.hold(std::move(version));
  if (!holds.ok()) co_return (co_await held.give_up(holds.error())).error();
  co_return held;
}

Async<void> HeldSession::hold(VersionPlace place) {
  for (int looks = 0; looks < HeadRegister::kTriesMax; ++looks) {
    CO_TRY(co_await head_->load());
    const Head& head = head_->head();
    if (!head.holds(place.key)) {
      const VersionPlace* const moved = head.find(place.version);  // By a gc that packed it anew.
      if (moved == nullptr) co_return was_dropped(place.version);
      place = *moved;
    }
    const std::int64_t collections = head.collections;
    looked_at_ = head.condemned;
    const SessionRecord& record = session_.record();
    if (record.pin == place.key && record.collections == collections) co_return {};
    CO_TRY(co_await pin(place.key, collections));
  }
  co_return HeadRegister::changes_too_fast(head_->volume());
}

Async<std::optional<HeldSession>> HeldSession::for_going_on_with(Context context, SessionRecord who,
                                                                 SeenSession branch,
                                                                 Session::BranchHas has) {
  const Head& head = context.head.head();
  const std::string condemned = head.condemned;
  who.collections = head.collections;
  std::optional<Session> taken = CO_TRY(co_await Session::take_over(
      context.store, context.random, branch.key, {.bytes = branch.bytes, .etag = branch.etag}, who,
      context.stop, has));
  if (!taken) co_return std::optional<HeldSession>();
  HeldSession held(context, *std::move(taken));
  held.looked_at_ = condemned;
  co_return std::optional(std::move(held));
}

Async<void> HeldSession::become_branch() {
  SessionRecord next = session_.record();
  next.kind = kBranchKind;
  next.base = next.pin;
  return session_.replace(std::move(next));
}

Async<void> HeldSession::move_branch(const std::string& manifest_key, bool sealed) {
  CHECK(session_.record().kind == kBranchKind, "a session that is no branch has none to move");
  CO_TRY(co_await head_->load_to_hold());
  SessionRecord next = session_.record();
  next.collections = head_->head().collections;
  if (next.pin != manifest_key) ++next.publishes;
  next.pin = manifest_key;
  next.sealed = sealed;
  ++moves_;
  is_moving_ = true;
  const Result<void> said = co_await session_.replace(std::move(next));
  is_moving_ = false;
  co_return said;
}

Async<void> HeldSession::pin(std::string manifest_key, std::int64_t collections) {
  if (is_moving_) co_return {};
  SessionRecord next = session_.record();
  next.pin = std::move(manifest_key);
  next.collections = collections;
  co_return co_await session_.replace(std::move(next),
                                      [this, moves = moves_] { return moves_ != moves; });
}

Async<std::int64_t> HeldSession::check(KeysInUse keys) {
  const Head head = head_->head();
  const std::int64_t known = session_.record().collections;
  // No list passes over a branch whose session is there, which the next swap of it tells.
  if (session_.record().kind == kBranchKind) co_return head.collections;
  const bool is_same_list = looked_at_.value_or(head.condemned) == head.condemned;
  if (head.collections == known && is_same_list) co_return known;
  // One without a list is of a volume that is gone.
  if (head.condemned.empty()) co_return session_.is_lost();
  const std::optional<std::string> before = looked_at_;
  const std::optional<Condemned> list =
      CO_TRY(co_await find_condemned(*store_, prefix_ + head.condemned, stop_));
  if (!list) {
    CO_TRY(co_await head_->load_to_hold());
    if (head_->head().condemned == head.condemned) co_return session_.is_lost();
    co_return Error(Errc::kGone, "the head has moved on").with_value(head.condemned);
  }
  const Condemned& last = *list;
  // Unless a beat has looked at a later one meanwhile.
  const auto has_looked = [this, &before, &head] {
    if (looked_at_ == before) looked_at_ = head.condemned;
    return head.collections;
  };
  if (last.has_live(session_.tag(), session_.record().pin)) co_return has_looked();
  // The list may have been made before this session began; one that nobody knows any more may
  // have named anything.
  if (head.collections != known + 1) co_return session_.is_lost();
  std::set<std::string> used = keys();
  used.insert(session_.record().pin);
  used.insert(session_.record().base);
  const auto is_condemned = [&](const std::string& key) { return last.keys.contains(key); };
  if (std::any_of(used.begin(), used.end(), is_condemned)) co_return session_.is_lost();
  co_return has_looked();
}

// As check(), of the head that is there now.
Async<std::int64_t> HeldSession::look(KeysInUse keys) {
  for (int looks = 0; looks < HeadRegister::kTriesMax; ++looks) {
    CO_TRY(co_await head_->load_to_hold());
    const Result<std::int64_t> checked = co_await check(keys);
    if (!checked.ok() && checked.error().code == Errc::kGone) continue;
    co_return checked;
  }
  co_return HeadRegister::changes_too_fast(head_->volume());
}

Async<void> HeldSession::keep(KeysInUse keys) {
  const std::int64_t collections = CO_TRY(co_await look(std::move(keys)));
  co_return co_await pin(session_.record().pin, collections);
}

}  // namespace runnel::volume
