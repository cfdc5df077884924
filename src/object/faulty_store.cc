#include "object/faulty_store.h"

#include <utility>

namespace runnel::object {
namespace {

Error lost(const std::string& store, const std::string& key) {
  return Error(Errc::kUnavailable, store + " did not answer for " + key).with_value(key);
}

Error took_too_long(const std::string& store, const std::string& key) {
  return Error(Errc::kTimeout, store + " took too long for " + key).with_value(key);
}

}  // namespace

FaultyStore::FaultyStore(async::EventLoop& loop, ObjectStore& inner, StoreFaults faults,
                         std::uint64_t seed)
    : ForwardingStore(inner), loop_(loop), faults_(faults), dice_(seed), gate_(loop) {}

bool FaultyStore::chance(int of_thousand) {
  return of_thousand > 0 && dice_.next() % 1'000 < static_cast<std::uint64_t>(of_thousand);
}

Duration FaultyStore::wait_of(Duration most) {
  if (most.is_zero()) return most;
  return Duration::millis(
      static_cast<std::int64_t>(dice_.next() % static_cast<std::uint64_t>(most.millis() + 1)));
}

Async<FaultyStore::Fate> FaultyStore::arrive(Condition::Kind condition, async::StopToken stop) {
  const Duration latency = wait_of(faults_.latency_max);
  if (!latency.is_zero()) CO_TRY(co_await loop_.sleep(latency, std::move(stop)));
  if (chance(faults_.congested)) co_return Error(Errc::kFull, name() + " asks for fewer requests");
  if (condition != Condition::Kind::kNone && chance(faults_.contended)) {
    co_return Error(Errc::kConflict, name() + " has another conditional put under way");
  }
  if (chance(faults_.lost_before)) co_return Fate::kLostBefore;
  if (chance(faults_.lost_after)) co_return Fate::kLostAfter;
  if (chance(faults_.late)) co_return Fate::kLate;
  co_return chance(faults_.doubled) ? Fate::kDoubled : Fate::kDone;
}

void FaultyStore::flip(std::span<char> bytes) {
  if (bytes.empty() || !chance(faults_.flipped)) return;
  char& byte = bytes[dice_.next() % bytes.size()];
  byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << (dice_.next() % 8)));
}

Async<Object> FaultyStore::get(std::string key, std::int64_t limit, async::StopToken stop) {
  const Fate fate = CO_TRY(co_await arrive(Condition::Kind::kNone, stop));
  if (fate == Fate::kLate) co_return took_too_long(name(), key);
  if (fate == Fate::kLostBefore || fate == Fate::kLostAfter) co_return lost(name(), key);
  Object object = CO_TRY(co_await inner().get(std::move(key), limit, std::move(stop)));
  flip(object.bytes);
  co_return object;
}

Async<void> FaultyStore::read(std::string key, std::string stamp, std::int64_t offset,
                              std::span<char> into, async::StopToken stop) {
  const Fate fate = CO_TRY(co_await arrive(Condition::Kind::kNone, stop));
  if (fate == Fate::kLate) co_return took_too_long(name(), key);
  if (fate == Fate::kLostBefore || fate == Fate::kLostAfter) co_return lost(name(), key);
  CO_TRY(co_await inner().read(std::move(key), std::move(stamp), offset, into, std::move(stop)));
  flip(into);
  co_return {};
}

Async<std::string> FaultyStore::put(std::string key, Body bytes, Condition condition,
                                    async::StopToken stop) {
  const Fate fate = CO_TRY(co_await arrive(condition.kind, stop));
  if (fate == Fate::kLostBefore) co_return lost(name(), key);
  if (fate == Fate::kLate || fate == Fate::kDoubled) {
    (void)loop_.spawn(gate_, put_later(key, bytes, condition));
  }
  if (fate == Fate::kLate) co_return took_too_long(name(), key);
  Result<std::string> etag =
      co_await inner().put(key, std::move(bytes), std::move(condition), std::move(stop));
  if (fate == Fate::kLostAfter) co_return lost(name(), key);
  co_return etag;
}

Async<void> FaultyStore::remove(std::string key, async::StopToken stop) {
  const Fate fate = CO_TRY(co_await arrive(Condition::Kind::kNone, stop));
  if (fate == Fate::kLostBefore) co_return lost(name(), key);
  if (fate == Fate::kLate || fate == Fate::kDoubled) (void)loop_.spawn(gate_, remove_later(key));
  if (fate == Fate::kLate) co_return took_too_long(name(), key);
  Result<void> removed = co_await inner().remove(key, std::move(stop));
  if (fate == Fate::kLostAfter) co_return lost(name(), key);
  co_return removed;
}

Async<ListPage> FaultyStore::list(std::string prefix, std::string after, async::StopToken stop) {
  const Fate fate = CO_TRY(co_await arrive(Condition::Kind::kNone, stop));
  if (fate == Fate::kLate) co_return took_too_long(name(), prefix);
  if (fate == Fate::kLostBefore || fate == Fate::kLostAfter) co_return lost(name(), prefix);
  co_return co_await inner().list(std::move(prefix), std::move(after), std::move(stop));
}

// Nobody is there any more to hear how these end.
Async<void> FaultyStore::put_later(std::string key, Body bytes, Condition condition) {
  CO_TRY(co_await loop_.sleep(wait_of(faults_.late_max), gate_.token()));
  const Result<std::string> unheard =
      co_await inner().put(std::move(key), std::move(bytes), std::move(condition), gate_.token());
  (void)unheard;
  co_return {};
}

Async<void> FaultyStore::remove_later(std::string key) {
  CO_TRY(co_await loop_.sleep(wait_of(faults_.late_max), gate_.token()));
  const Result<void> unheard = co_await inner().remove(std::move(key), gate_.token());
  (void)unheard;
  co_return {};
}

}  // namespace runnel::object
