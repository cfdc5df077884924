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

struct RetryOptions {
  int tries = 8;  // Of a store that has never answered: nobody may be there.
  Duration first_pause = Duration::millis(50);  // Doubled with each try; a share of it by chance.
  Duration pause_max = Duration::seconds(5);
  // No try begins after that. A store may be away for a minute; and a try that is never answered
  // lasts up to 25 s more, which makes 90 s.
  Duration deadline = Duration::seconds(65);
  Duration rest = Duration::seconds(1);
  int under_way_max = 32;  // Requests at one time.
};

// Repeats the requests to another store that a retry may mend, and limits those under way.
//
// Contract: reads, lists and removals are repeated as they are. A put under kAbsent is repeated,
//           too: names carry their writer's nonce, so an object of this name with these bytes is
//           this put's. A put under kMatches, or none, whose outcome is unknown is not repeated:
//           its error is handed on, and the caller looks what became of it. A store that has
//           answered once is asked until the deadline: it may be away for a while. When a request
//           was given up then, those that begin within `rest` get its error at once, unless the
//           store answers: a kernel asks again for each page that could not be read ahead. (Circuit
//           breaker: Nygard, "Release It!", 2007.)
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
  // Whether and when to try again.
  struct Tries {
    Duration until;
    int made = 0;
  };
  struct GivenUp {
    Duration at;
    Error error;
  };
  // The error of a request that was given up a moment ago.
  Result<Tries> begin() const;
  // Returns once it is time to try again; the error itself where no further try is made.
  Async<void> pause(Tries& tries, Error error, async::StopToken stop);
  Duration length_of_pause(int tries_made);
  template <typename T>
  Async<T> once(Async<T> call, async::StopToken stop);
  template <typename T, typename Call>
  Async<T> repeated(Call call, async::StopToken stop);
  Async<std::string> put_once(std::string key, Body bytes, Condition condition,
                              async::StopToken stop);
  Async<std::string> settle(std::string key, Body bytes, Error refusal, async::StopToken stop);

  async::EventLoop& loop_;
  env::Clock& clock_;
  env::Random& random_;
  RetryOptions options_;
  RequestWindow window_;
  bool has_answered_ = false;
  std::optional<GivenUp> given_up_;  // Since the last answer.
  std::int64_t retries_ = 0;
};

}  // namespace runnel::object
