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

Result<RetryStore::Tries> RetryStore::begin() const {
  const Duration now = clock_.boot();
  if (given_up_ && now - given_up_->at < options_.rest) return given_up_->error;
  return Tries{.until = now + options_.deadline};
}

Async<void> RetryStore::pause(Tries& tries, Error error, async::StopToken stop) {
  if (error.code == Errc::kFull) window_.congested();
  if (!is_mended_by_a_retry(error)) co_return error;
  ++tries.made;
  if (!has_answered_ && tries.made >= options_.tries) co_return error;
  const Duration length = length_of_pause(tries.made);
  if (clock_.boot() + length >= tries.until) {
    if (is_unknown(error)) given_up_ = GivenUp{clock_.boot(), error};
    co_return error;
  }
  ++retries_;
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

template <typename T>
Async<T> RetryStore::once(Async<T> call, async::StopToken stop) {
  CO_TRY(co_await window_.enter(std::move(stop)));
  Result<T> result = co_await std::move(call);
  window_.leave();
  if (result.ok()) window_.succeeded();
  if (result.ok() || !is_unknown(result.error())) {
    has_answered_ = true;
    given_up_.reset();
  }
  co_return result;
}

template <typename T, typename Call>
Async<T> RetryStore::repeated(Call call, async::StopToken stop) {
  Tries tries = CO_TRY(begin());
  while (true) {
    Result<T> result = co_await once(call(), stop);
    if (result.ok()) co_return result;
    CO_TRY(co_await pause(tries, result.error(), stop));
  }
}

Async<Object> RetryStore::get(std::string key, std::int64_t limit, async::StopToken stop) {
  const auto call = [&] { return inner().get(key, limit, stop); };
  co_return co_await repeated<Object>(call, stop);
}

Async<void> RetryStore::read(std::string key, std::string stamp, std::int64_t offset,
                             std::span<char> into, async::StopToken stop) {
  const auto call = [&] { return inner().read(key, stamp, offset, into, stop); };
  co_return co_await repeated<void>(call, stop);
}

Async<std::string> RetryStore::put(std::string key, Body bytes, Condition condition,
                                   async::StopToken stop) {
  const bool repeatable = condition.kind == Condition::Kind::kAbsent;
  Tries tries = CO_TRY(begin());
  bool unknown = false;  // Whether an earlier try may have put it.
  while (true) {
    Result<std::string> put = co_await put_once(key, bytes, condition, stop);
    if (put.ok()) co_return put;
    if (unknown && put.error().code == Errc::kPrecondition) {
      co_return co_await settle(key, bytes, put.error(), stop);
    }
    if (is_unknown(put.error())) {
      if (!repeatable) co_return put;
      unknown = true;
    }
    CO_TRY(co_await pause(tries, put.error(), stop));
  }
}

Async<std::string> RetryStore::put_once(std::string key, Body bytes, Condition condition,
                                        async::StopToken stop) {
  return once(inner().put(std::move(key), std::move(bytes), std::move(condition), stop), stop);
}

// Somebody put the name: an earlier try of this call, when the bytes are the same.
Async<std::string> RetryStore::settle(std::string key, Body bytes, Error refusal,
                                      async::StopToken stop) {
  const std::int64_t size = std::ssize(*bytes);
  if (size <= kComparedWhole) {
    Result<Object> there = co_await get(key, size, stop);
    if (!there.ok() && there.error().code != Errc::kInvalid) co_return there.error();
    if (there.ok() && there->bytes == *bytes) co_return std::move(there->etag);
    co_return refusal;
  }
  for (const std::int64_t offset : {std::int64_t{0}, size - kComparedEnd}) {
    std::string end(kComparedEnd, '\0');
    const Result<void> read_end = co_await read(key, "", offset, end, stop);
    if (!read_end.ok() && read_end.error().code != Errc::kCorrupt) co_return read_end.error();
    if (!read_end.ok() || bytes->compare(offset, kComparedEnd, end) != 0) co_return refusal;
  }
  co_return std::string();
}

Async<void> RetryStore::remove(std::string key, async::StopToken stop) {
  const auto call = [&] { return inner().remove(key, stop); };
  co_return co_await repeated<void>(call, stop);
}

Async<ListPage> RetryStore::list(std::string prefix, std::string after, async::StopToken stop) {
  const auto call = [&] { return inner().list(prefix, after, stop); };
  co_return co_await repeated<ListPage>(call, stop);
}

}  // namespace runnel::object
