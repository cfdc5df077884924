#pragma once

#include <functional>
#include <optional>
#include <string>

#include "async/event_loop.h"
#include "env/clock.h"
#include "env/random.h"
#include "object/forwarding_store.h"
#include "object/request_window.h"

namespace runnel::object {

// A try that is never answered ends by itself within this (http/outward_client.h).
inline constexpr Duration kTryMax = Duration::seconds(25);
// A request to a store that answers nobody ends within this.
inline constexpr Duration kSilentMax = Duration::seconds(90);

struct RetryOptions {
  int tries = 8;  // Of a store that has never answered: nobody may be there.
  Duration first_pause = Duration::millis(50);  // Doubled with each try; a share of it by chance.
  Duration pause_max = Duration::seconds(5);
  Duration deadline =
      kSilentMax - kTryMax;  // No try begins after that: a store may be away so long.
  Duration rest = Duration::seconds(1);
  int under_way_max = 32;  // Requests at one time.
};

// Repeats the requests to another store that a retry may mend, and limits those under way.
//
// Contract: reads, lists and removals are repeated as they are. A put under kAbsent is repeated,
//           too: names carry their writer's nonce, so an object of this name with these bytes is
//           this put's. A put under kMatches whose outcome is unknown, or that was refused, since a
//           connection may have repeated it, is settled by what is there: it was done when that is
//           these bytes, which carry a nonce, and is repeated when that is what was to be replaced;
//           anything else may come of it, so its error is handed on. One
//           without a condition is not repeated. A store that has answered once is asked until the
//           deadline: it may be away for a while. When it has answered nobody for so long,
//           requests that begin within `rest` fail at once: a kernel asks again for each page that
//           could not be read ahead. (Circuit breaker: Nygard, "Release It!", 2007.)
// Threads:  the loop's only.
// Lifetime: loop, clock, chance and `inner` outlive it.
class RetryStore final : public ForwardingStore {
 public:
  RetryStore(async::EventLoop& loop, env::Clock& clock, env::Random& random, ObjectStore& inner,
             RetryOptions options = {});

  Async<Object> get(std::string key, std::int64_t limit, async::StopToken stop) override;
  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override;
  Async<std::string> put(std::string key, Body bytes, Condition condition,
                         async::StopToken stop) override;
  Async<void> remove(std::string key, async::StopToken stop) override;
  Async<ListPage> list(std::string prefix, std::string after, async::StopToken stop) override;

  int window() const { return window_.allowed(); }
  std::int64_t retries() const { return retries_; }

 private:
  // A request, and until when it is tried.
  struct Tries {
    Duration begun;
    Duration until;
    int made = 0;
    std::optional<Error> last_error;  // Of the last try.
  };
  // kUnavailable right after a request was given up.
  Result<Tries> begin(const std::string& key) const;
  bool has_answered_since(Duration moment) const { return answered_at_ && *answered_at_ > moment; }
  // Returns once it is time to try again; the error itself where no further try is made.
  Async<void> pause(Tries& tries, Error error, async::StopToken stop);
  Duration length_of_pause(int tries_made);
  // Its turn comes when others have been answered, which takes none of its time. After its time:
  // its last error, or kTimeout when it was never tried.
  Async<void> wait_for_turn(Tries& tries, async::StopToken stop);
  template <typename T>
  Async<T> once(Tries& tries, Async<T> call, async::StopToken stop);
  template <typename T, typename Call>
  Async<T> repeated(Tries tries, Call call, async::StopToken stop);
  Async<Object> get_within(Tries tries, std::string key, std::int64_t limit, async::StopToken stop);
  Async<void> read_within(Tries tries, std::string key, std::int64_t offset, std::span<char> into,
                          async::StopToken stop);
  // What became of a put whose outcome is unknown.
  Async<std::string> settle_new(Tries tries, std::string key, Body bytes, Error refusal,
                                async::StopToken stop);
  Async<std::optional<std::string>> settle_swap(Tries tries, std::string key, Body bytes,
                                                std::string etag, Error unknown,
                                                async::StopToken stop);

  async::EventLoop& loop_;
  env::Clock& clock_;
  env::Random& random_;
  RetryOptions options_;
  RequestWindow window_;
  std::optional<Duration> answered_at_;  // The last time, if ever.
  std::optional<Duration> given_up_at_;  // When nobody had been answered for a request's time.
  std::int64_t retries_ = 0;
};

}  // namespace runnel::object
