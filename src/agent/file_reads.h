#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "async/abandonable_call.h"
#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/result.h"
#include "base/units.h"
#include "env/clock.h"

namespace runnel::agent {

// Reads whole files that may never answer: on a dead network mount, or a frozen disk.
//
// Contract: read() answers as env::read_file(), or with kTimeout when the file did not answer
//           within `answer_max`. Each file has a thread of its own while it is read, which all who
//           ask for it share: one that hangs delays only those who need it.
// Threads:  the loop's only.
// Lifetime: read() runs in a gate that is closed before destruction. Threads that hang are left
//           alone.
// Limits:   kAtOnceMax files at a time; more wait, within the same time.
class FileReads {
 public:
  static constexpr std::size_t kAtOnceMax = 16;
  static constexpr Duration kAnswerMax = Duration::seconds(30);

  FileReads(async::EventLoop& loop, env::Clock& clock, Duration answer_max = kAnswerMax)
      : loop_(loop), clock_(clock), answer_max_(answer_max), room_(loop) {}

  Async<std::string> read(std::string path, Bytes limit, async::StopToken stop);

 private:
  struct Reading;
  using ReadingPtr = std::shared_ptr<Reading>;

  Async<ReadingPtr> find_or_begin(std::string path, Bytes limit, Duration until,
                                  async::StopToken stop);
  Result<ReadingPtr> begin(const std::string& path, Bytes limit);
  Error silent(const std::string& path) const;

  async::EventLoop& loop_;
  env::Clock& clock_;
  const Duration answer_max_;
  std::map<std::string, ReadingPtr> readings_;
  async::Notifier room_;
};

}  // namespace runnel::agent
