#include "volume_sim/network.h"

#include <algorithm>
#include <utility>

namespace runnel::volume_sim {
namespace {

// At most. A quarter of the processes have a long way, so that others do much meanwhile.
constexpr Duration kOneWay = Duration::millis(40);
constexpr Duration kLongWay = Duration::seconds(4);

Error is_silent() { return Error(Errc::kUnavailable, "the bucket does not answer"); }
Error is_dead() { return Error(Errc::kCancelled, "the process is dead"); }
Error is_missing(const std::string& key) {
  return Error(Errc::kNotFound, "there is no object " + key).with_value(key);
}

}  // namespace

Network::Network(Agenda& agenda, async::EventLoop& loop, std::shared_ptr<Bucket> bucket,
                 const Faults& faults, std::uint64_t process, std::uint64_t seed)
    : agenda_(agenda),
      loop_(loop),
      bucket_(std::move(bucket)),
      faults_(faults),
      process_(process),
      dice_(seed),
      one_way_(chance(250) ? kLongWay : kOneWay) {}

bool Network::chance(int of_thousand) {
  return of_thousand > 0 && dice_.next() % 1'000 < static_cast<std::uint64_t>(of_thousand);
}

Duration Network::up_to(Duration most) {
  return Duration::millis(
      static_cast<std::int64_t>(dice_.next() % static_cast<std::uint64_t>(most.millis() + 1)));
}

Async<Network::Fate> Network::travel(async::StopToken stop) {
  if (is_cut_) co_return is_dead();
  CO_TRY(co_await loop_.sleep(up_to(one_way_), std::move(stop)));
  if (is_cut_) co_return is_dead();
  if (chance(faults_.congested)) co_return Error(Errc::kFull, "too many requests");
  if (is_away_ || chance(faults_.lost)) co_return Fate::kLost;
  if (chance(faults_.unheard)) co_return Fate::kUnheard;
  if (chance(faults_.late)) co_return Fate::kLate;
  co_return chance(faults_.doubled) ? Fate::kDoubled : Fate::kDone;
}

template <typename T>
Async<T> Network::answer(Fate fate, Result<T> result, async::StopToken stop) {
  CO_TRY(co_await loop_.sleep(up_to(one_way_), std::move(stop)));
  if (is_cut_) co_return is_dead();
  const bool is_heard = fate == Fate::kDone || fate == Fate::kDoubled;
  if (!is_heard) co_return is_silent();
  co_return result;
}

Async<object::Object> Network::get(std::string key, std::int64_t limit, async::StopToken stop) {
  const Fate fate = CO_TRY(co_await travel(stop));
  const Bucket::Stored* const found = bucket_->find(key);
  Result<object::Object> object = is_missing(key);
  if (found != nullptr) object = object::Object{*found->bytes, found->etag};
  if (object.ok() && std::ssize(object->bytes) > limit) object = Error(Errc::kInvalid, "too long");
  co_return co_await answer(fate, std::move(object), std::move(stop));
}

Async<void> Network::read(std::string key, std::string /*stamp*/, std::int64_t offset,
                          std::span<char> into, async::StopToken stop) {
  const Fate fate = CO_TRY(co_await travel(stop));
  const Bucket::Stored* const found = bucket_->find(key);
  Result<void> done;
  if (found == nullptr) {
    done = is_missing(key);
  } else if (offset + std::ssize(into) > std::ssize(*found->bytes)) {
    done = Error(Errc::kCorrupt, "the object ends before").with_value(key);
  } else {
    std::copy_n(found->bytes->begin() + offset, into.size(), into.begin());
  }
  co_return co_await answer(fate, std::move(done), std::move(stop));
}

Async<std::string> Network::put(std::string key, object::Body bytes, object::Condition condition,
                                async::StopToken stop) {
  const Fate fate = CO_TRY(co_await travel(stop));
  if (condition.kind != object::Condition::Kind::kNone && chance(faults_.contended)) {
    co_return Error(Errc::kConflict, "another put is under way");
  }
  const auto effect = [bucket = bucket_, process = process_, key, bytes, condition] {
    return bucket->put(process, key, bytes, condition);
  };
  if (fate == Fate::kLate || fate == Fate::kDoubled) {
    agenda_.after(up_to(faults_.late_max), [effect] { (void)effect(); });
  }
  Result<std::string> etag = std::string();
  if (fate != Fate::kLost && fate != Fate::kLate) etag = effect();
  co_return co_await answer(fate, std::move(etag), std::move(stop));
}

Async<void> Network::remove(std::string key, async::StopToken stop) {
  const Fate fate = CO_TRY(co_await travel(stop));
  const auto effect = [bucket = bucket_, process = process_, key] { bucket->remove(process, key); };
  if (fate == Fate::kLate || fate == Fate::kDoubled) {
    agenda_.after(up_to(faults_.late_max), effect);
  }
  if (fate != Fate::kLost && fate != Fate::kLate) effect();
  co_return co_await answer(fate, Result<void>(), std::move(stop));
}

Async<object::ListPage> Network::list(std::string prefix, std::string after,
                                      async::StopToken stop) {
  constexpr std::size_t kPage = 7;  // Small, so that something happens between two.
  const Fate fate = CO_TRY(co_await travel(stop));
  if (chance(faults_.unlisted)) co_return Error(Errc::kDenied, "lists are refused");
  object::ListPage page;
  const auto& objects = bucket_->objects();
  auto each = after < prefix ? objects.lower_bound(prefix) : objects.upper_bound(after);
  for (; each != objects.end() && each->first.starts_with(prefix); ++each) {
    if (page.objects.size() == kPage) {
      page.more = page.objects.back().key;
      break;
    }
    page.objects.push_back({each->first, std::ssize(*each->second.bytes)});
  }
  co_return co_await answer(fate, Result<object::ListPage>(std::move(page)), std::move(stop));
}

}  // namespace runnel::volume_sim
