#pragma once

#include <sys/resource.h>

#include <csignal>

#include "base/check.h"
#include "base/units.h"

namespace runnel::env::testing {

// No file of this process becomes longer while it lives: writes beyond that fail, as on a full
// disk.
class LengthLimit {
 public:
  explicit LengthLimit(Bytes length) : on_excess_(std::signal(SIGXFSZ, SIG_IGN)) {
    CHECK(::getrlimit(RLIMIT_FSIZE, &before_) == 0, "a process knows its own limits");
    const struct rlimit little{static_cast<rlim_t>(length.count()), before_.rlim_max};
    CHECK(::setrlimit(RLIMIT_FSIZE, &little) == 0, "a process may lower its own limits");
  }
  ~LengthLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, on_excess_);
  }
  LengthLimit(const LengthLimit&) = delete;
  LengthLimit& operator=(const LengthLimit&) = delete;

 private:
  using Handler = void (*)(int);
  struct rlimit before_{};
  Handler on_excess_;
};

}  // namespace runnel::env::testing
