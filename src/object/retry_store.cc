#include "object/retry_store.h"

#include <algorithm>
#include <utility>

namespace runnel::object {
namespace {

// Larger objects are compared at their ends only.
constexpr std::int64_t kComparedWhole = 1 << 20;
constexpr std::int64_t kComparedEnd = 4 << 10;

bool is_unknown(const Error& error) {
  return error.code == Errc::kUnavailable || error.code == Errc::kTimeout;
}

bool is_mended_by_a_retry(const Error& error) {
  return is_unknown(error) || error.code == Errc::kConflict || error.code == Errc::kFull;
}

}  // namespace

RetryStore::RetryStore(async::EventLoop& loop, env::Clock& clock, env::Random& random,
                       ObjectStore& inner, RetryOptions options)
    : ForwardingStore(inner),
      loop_(loop),
      clock_(clock),
      random_(random),
      options_(options),
      window_(loop, options.under_way_max) {}

Result<RetryStore::Tries> RetryStore::begin(const std::string& key) const {
  const Duration now = clock_.boot();
  if (given_up_at_ && now - *given_up_at_ < options_.rest && !has_answered_since(*given_up_at_)) {
    return Error(Errc::kUnavailable,
                 name() + " has answered nobody for " + to_string(options_.deadline))
        .with_value(key);
  }
  return Tries{.begun = now, .until = now + options_.deadline};
}

Async<void> RetryStore::pause(Tries& tries, Error error, async::StopToken stop) {
  if (error.code == Errc::kFull) window_.congested();
  if (!is_mended_by_a_retry(error)) co_return error;
  ++tries.made;
  if (!answered_at_ && tries.made >= options_.tries) co_return error;
  const Duration length = length_of_pause(tries.made);
  if (clock_.boot() + length >= tries.until) {
    if (!has_answered_since(tries.begun)) given_up_at_ = clock_.boot();
    co_return error;
  }
  ++retries_;
  tries.last_error = std::move(error);
  co_return co_await loop_.sleep(length, std::move(stop));
}

Duration RetryStore::length_of_pause(int tries_made) {
  std::int64_t most = options_.first_pause.millis();
  for (int number = 1; number < tries_made && most < options_.pause_max.millis(); ++number) {
    most *= 2;
  }
  most = std::min(most, options_.pause_max.millis());
  return Duration::millis(
      static_cast<std::int64_t>(random_.next() % static_cast<std::uint64_t>(most + 1)));
}

Async<void> RetryStore::wait_for_turn(Tries& tries, async::StopToken stop) {
  CO_TRY(co_await window_.enter(std::move(stop)));
  const Duration now = clock_.boot();
  const bool has_waited_for_others = tries.made == 0 && has_answered_since(tries.begun);
  if (has_waited_for_others) tries.until = now + options_.deadline;
  if (now < tries.until) co_return {};
  window_.leave();
  if (!has_answered_since(tries.begun)) given_up_at_ = now;
  if (tries.last_error) co_return *tries.last_error;
  co_return Error(Errc::kTimeout, "a request to " + name() +
                                      " has had neither its turn nor an answer within " +
                                      to_string(options_.deadline));
}

template <typename T>
Async<T> RetryStore::once(Tries& tries, Async<T> call, async::StopToken stop) {
  CO_TRY(co_await wait_for_turn(tries, std::move(stop)));
  Result<T> result = co_await std::move(call);
  window_.leave();
  if (result.ok()) window_.succeeded();
  const bool is_answer =
      result.ok() || (!is_unknown(result.error()) && result.error().code != Errc::kCancelled);
  if (is_answer) answered_at_ = clock_.boot();
  co_return result;
}

template <typename T, typename Call>
Async<T> RetryStore::repeated(Tries tries, Call call, async::StopToken stop) {
  while (true) {
    Result<T> result = co_await once(tries, call(), stop);
    if (result.ok()) co_return result;
    CO_TRY(co_await pause(tries, result.error(), stop));
  }
}

Async<Object> RetryStore::get_within(Tries tries, std::string key, std::int64_t limit,
                                     async::StopToken stop) {
  const auto call = [&] { return inner().get(key, limit, stop); };
  co_return co_await repeated<Object>(tries, call, stop);
}

Async<void> RetryStore::read_within(Tries tries, std::string key, std::int64_t offset,
                                    std::span<char> into, async::StopToken stop) {
  const auto call = [&] { return inner().read(key, "", offset, into, stop); };
  co_return co_await repeated<void>(tries, call, stop);
}

Async<Object> RetryStore::get(std::string key, std::int64_t limit, async::StopToken stop) {
  const Tries tries = CO_TRY(begin(key));
  co_return co_await get_within(tries, std::move(key), limit, std::move(stop));
}

Async<void> RetryStore::read(std::string key, std::string stamp, std::int64_t offset,
                             std::span<char> into, async::StopToken stop) {
  const Tries tries = CO_TRY(begin(key));
  const auto call = [&] { return inner().read(key, stamp, offset, into, stop); };
  co_return co_await repeated<void>(tries, call, stop);
}

Async<std::string> RetryStore::put(std::string key, Body bytes, Condition condition,
                                   async::StopToken stop) {
  const bool is_new = condition.kind == Condition::Kind::kAbsent;
  const bool is_swap = condition.kind == Condition::Kind::kMatches;
  Tries tries = CO_TRY(begin(key));
  while (true) {
    Result<std::string> put = co_await once(tries, inner().put(key, bytes, condition, stop), stop);
    if (put.ok()) co_return put;
    Tries looks = tries;
    looks.made = std::max(looks.made, 1);  // What is looked at now takes time of this request.
    const bool is_open = is_unknown(put.error());
    // Also at the first try: a connection that ended without an answer may have repeated it.
    const bool is_refused = put.error().code == Errc::kPrecondition;
    if (is_new && is_refused) {
      co_return co_await settle_new(looks, key, bytes, put.error(), stop);
    }
    if (is_swap && (is_open || is_refused)) {
      const std::optional<std::string> done =
          CO_TRY(co_await settle_swap(looks, key, bytes, condition.etag, put.error(), stop));
      if (done) co_return *done;
    }
    if (is_open && !is_new && !is_swap) co_return put;
    CO_TRY(co_await pause(tries, put.error(), stop));
  }
}

// Somebody put the name: an earlier try of this call, when the bytes are the same.
Async<std::string> RetryStore::settle_new(Tries tries, std::string key, Body bytes, Error refusal,
                                          async::StopToken stop) {
  const std::int64_t size = std::ssize(*bytes);
  if (size <= kComparedWhole) {
    Result<Object> there = co_await get_within(tries, key, size, stop);
    if (!there.ok() && there.error().code != Errc::kInvalid) co_return there.error();
    if (there.ok() && there->bytes == *bytes) co_return std::move(there->etag);
    co_return refusal;
  }
  for (const std::int64_t offset : {std::int64_t{0}, size - kComparedEnd}) {
    std::string end(kComparedEnd, '\0');
    const Result<void> read_end = co_await read_within(tries, key, offset, end, stop);
    if (!read_end.ok() && read_end.error().code != Errc::kCorrupt) co_return read_end.error();
    if (!read_end.ok() || bytes->compare(offset, kComparedEnd, end) != 0) co_return refusal;
  }
  co_return std::string();
}

// The new ETag when it was done; none when it may be tried again.
Async<std::optional<std::string>> RetryStore::settle_swap(Tries tries, std::string key, Body bytes,
                                                          std::string etag, Error unknown,
                                                          async::StopToken stop) {
  const std::int64_t limit = std::max(std::ssize(*bytes), kComparedWhole);
  Result<Object> there = co_await get_within(tries, key, limit, stop);
  CO_TRY(stop.check());
  if (!there.ok()) co_return unknown;
  if (there->bytes == *bytes) co_return std::optional(std::move(there->etag));
  if (there->etag == etag) co_return std::optional<std::string>();
  co_return unknown;
}

Async<void> RetryStore::remove(std::string key, async::StopToken stop) {
  const Tries tries = CO_TRY(begin(key));
  const auto call = [&] { return inner().remove(key, stop); };
  co_return co_await repeated<void>(tries, call, stop);
}

Async<ListPage> RetryStore::list(std::string prefix, std::string after, async::StopToken stop) {
  const Tries tries = CO_TRY(begin(prefix));
  const auto call = [&] { return inner().list(prefix, after, stop); };
  co_return co_await repeated<ListPage>(tries, call, stop);
}

}  // namespace runnel::object
