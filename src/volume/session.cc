#include "volume/session.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "env/machine.h"
#include "env/process.h"
#include "hash/sha256.h"
#include "json/read.h"
#include "model/fields.h"
#include "volume/digits.h"
#include "volume/head.h"
#include "volume/known_members.h"
#include "volume/seen_session.h"

namespace runnel::model {

template <>
struct Fields<volume::SessionRecord> {
  static void visit(auto& visit, auto& record) {
    visit("base", record.base);
    visit("beat", record.beat);
    visit("boot", record.boot);
    visit("collections", record.collections, Number{.max = volume::Head::kCollectionsMax / 2});
    visit("host", record.host);
    visit("kind", record.kind, Required());
    visit("merged", record.merged);
    visit("owner", record.owner);
    visit("pid", record.pid);
    visit("pid_namespace", record.pid_namespace);
    visit("pin", record.pin);
    visit("publishes", record.publishes);
    visit("sealed", record.sealed);
    visit("source", record.source);
    visit("term", record.term);
    visit("uuid", record.uuid);
    visit("writes", record.writes);
  }
};

}  // namespace runnel::model

namespace runnel::volume {
namespace {

constexpr std::size_t kTagDigits = 8;
constexpr std::size_t kNonceDigits = 16;
constexpr std::uint64_t kLowHalf = 0xffff'ffff;
constexpr int kSwapTriesMax = 5;  // While late requests of its own are in its way.

}  // namespace

std::string encode_session(const SessionRecord& record) {
  std::string text;
  json::Writer out(text);
  model::write_record(out, record);
  return text;
}

Result<SessionRecord> decode_session(std::string_view text) {
  Result<json::Value> json = json::parse(text);
  // One that gc took for damaged would protect nothing.
  if (json.ok() && json->is_object()) keep_known_members<SessionRecord>(*json);
  Result<SessionRecord> record =
      json.ok() ? model::read_record<SessionRecord>(*json) : Result<SessionRecord>(json.error());
  if (record.ok()) return record;
  return Error(Errc::kCorrupt, "a session of the volume is damaged: " + record.error().to_string());
}

SessionRecord session_of_this_process(std::string kind) {
  SessionRecord record;
  record.kind = std::move(kind);
  if (Result<std::string> name = env::hostname(); name.ok()) record.host = *std::move(name);
  if (Result<std::string> boot = env::boot_id(); boot.ok()) record.boot = *std::move(boot);
  record.pid = getpid();
  record.pid_namespace = env::pid_namespace().value_or(0);
  return record;
}

bool has_ended(const SessionRecord& record, const SessionRecord& here) {
  const bool is_known = !record.host.empty() && !record.boot.empty() && record.pid_namespace != 0;
  const bool is_seen_from_here = is_known && record.host == here.host && record.boot == here.boot &&
                                 record.pid_namespace == here.pid_namespace;
  return is_seen_from_here && !env::process_runs(record.pid);
}

bool is_of_another_volume(const SessionRecord& record, const std::string& uuid) {
  return !record.uuid.empty() && record.uuid != uuid;
}

// Random numbers whose first half is the session's tag.
class Session::Nonces final : public env::Random {
 public:
  // `number`: one whose first half it is.
  Nonces(env::Random& random, std::uint64_t number) : random_(random), tag_(number & ~kLowHalf) {}
  std::uint64_t next() override { return tag_ | (random_.next() & kLowHalf); }

 private:
  env::Random& random_;
  const std::uint64_t tag_;
};

Session::Session(object::ObjectStore& store, std::shared_ptr<env::Random> nonces, std::string key,
                 SessionRecord record, async::StopToken stop)
    : store_(&store),
      stop_(std::move(stop)),
      record_(std::move(record)),
      nonces_(std::move(nonces)),
      key_(std::move(key)),
      tag_(session_tag(key_)) {}

std::string branch_digits(std::string_view branch) {
  return hash::sha256_hex(branch).substr(0, kBranchDigits);
}

namespace {

std::string name_of(const SessionRecord& record, std::uint64_t number) {
  std::string name = digits_of(number);
  if (record.kind != kNewBranchKind) return name;
  return name.replace(name.size() - kBranchDigits, kBranchDigits, branch_digits(record.source));
}

}  // namespace

Async<Session> Session::begin(object::ObjectStore& store, env::Random& random, std::string prefix,
                              SessionRecord record, async::StopToken stop) {
  record.owner = digits_of(random.next());
  for (int tries = 1;; ++tries) {
    const auto nonces = std::make_shared<Nonces>(random, random.next());
    Session session(store, nonces, prefix + "s/" + name_of(record, nonces->next()), record, stop);
    Result<std::string> put =
        co_await store.put(session.key_, object::make_body(encode_session(session.record_)),
                           object::Condition::absent(), session.stop_);
    // On a slow way it may have been there, and have been taken for dead, before that is known.
    const bool was_removed = !put.ok() && put.error().code == Errc::kNotFound;
    if (was_removed && tries < kSwapTriesMax) continue;
    session.etag_ = CO_TRY(std::move(put));
    co_return session;
  }
}

Async<std::optional<Session>> Session::take_over(object::ObjectStore& store, env::Random& random,
                                                 std::string key, object::Object there,
                                                 SessionRecord who, async::StopToken stop,
                                                 BranchHas has) {
  SessionRecord record = CO_TRY(decode_session(there.bytes));
  ++record.beat;
  record.host = who.host;
  record.boot = who.boot;
  record.pid = who.pid;
  record.pid_namespace = who.pid_namespace;
  record.owner = digits_of(random.next());
  if (record.kind == kBranchKind) {
    record.collections = std::max(record.collections, who.collections);
    record.term = who.term;
    record.sealed = false;
    record.merged.clear();
    const bool goes_back = has == BranchHas::kItsBase && record.pin != record.base;
    if (goes_back) {
      record.pin = record.base;
      ++record.publishes;
    }
  }
  const std::uint64_t number = CO_TRY(number_of(key.substr(key.rfind('/') + 1)));
  Session session(store, std::make_shared<Nonces>(random, number), std::move(key), record, stop);
  const Result<std::string> put =
      co_await store.put(session.key_, object::make_body(encode_session(record)),
                         object::Condition::matches(std::move(there.etag)), session.stop_);
  const bool is_anothers =
      !put.ok() && (put.error().code == Errc::kPrecondition || put.error().code == Errc::kNotFound);
  if (is_anothers) co_return std::optional<Session>();
  session.etag_ = CO_TRY(Result<std::string>(put));
  co_return std::optional(std::move(session));
}

Error Session::is_lost() const {
  return Error(Errc::kConflict, "this " + record_.kind +
                                    " was taken for dead, and what it had put is gone: it was "
                                    "stopped, or its store away, for over " +
                                    to_string(kTtl))
      .with_value(key_)
      .with_hint("run it again");
}

// Who takes the object over is another owner, and who says that it has ended names none: so what is
// there of the same owner after an answer that was lost is what was before or what was meant. What
// was before has a new ETag when it was an earlier call's that came late, and the old one again
// when a second of those has come since the put was refused.
Async<void> Session::replace(SessionRecord next, Overtaken overtaken) {
  next.beat = record_.beat + 1;
  const std::string text = encode_session(next);
  for (int tries = 1;; ++tries) {
    Result<std::string> put = co_await store_->put(key_, object::make_body(text),
                                                   object::Condition::matches(etag_), stop_);
    if (overtaken()) co_return {};
    if (put.ok()) {
      etag_ = *std::move(put);
      break;
    }
    const Errc code = put.error().code;
    if (code == Errc::kNotFound) co_return is_lost();
    const bool is_open =
        code == Errc::kPrecondition || code == Errc::kUnavailable || code == Errc::kTimeout;
    if (!is_open) co_return put.error();
    const std::string before = etag_;
    Result<object::Object> there = co_await store_->get(key_, kSessionBytesMax, stop_);
    if (!there.ok() && there.error().code == Errc::kNotFound) co_return is_lost();
    object::Object object = CO_TRY(std::move(there));
    if (overtaken()) co_return {};
    if (CO_TRY(decode_session(object.bytes)).owner != record_.owner) co_return is_lost();
    etag_ = std::move(object.etag);
    if (object.bytes == text) break;
    // A store that does not answer has been asked for as long as anybody waits.
    const bool may_retry = code == Errc::kPrecondition && tries < kSwapTriesMax;
    if (etag_ == before && !may_retry) co_return put.error();
  }
  record_ = std::move(next);
  co_return {};
}

Async<void> Session::end() {
  for (int tries = 0; tries < kSwapTriesMax; ++tries) {
    std::optional<SeenSession> there = CO_TRY(co_await see_session(*store_, key_, stop_));
    const bool is_anothers = there && there->record && there->record->owner != record_.owner;
    if (!there || is_anothers) co_return {};
    if (CO_TRY(co_await remove_session(*store_, *std::move(there), stop_))) co_return {};
  }
  co_return {};  // Late beats of its own are in the way: gc removes what stands still.
}

std::string session_tag(std::string_view session_key) {
  const std::size_t slash = session_key.rfind('/');
  const std::string_view name = session_key.substr(slash == std::string_view::npos ? 0 : slash + 1);
  return name.size() == kNonceDigits ? std::string(name.substr(0, kTagDigits)) : "";
}

std::string object_tag(std::string_view key) {
  const std::size_t dash = key.rfind('-');
  if (dash == std::string_view::npos || key.size() - dash - 1 != kNonceDigits) return "";
  return std::string(key.substr(dash + 1, kTagDigits));
}

}  // namespace runnel::volume
