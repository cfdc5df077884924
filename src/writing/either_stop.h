#pragma once

#include "async/stop_token.h"

namespace runnel::writing {

// Stops with the first of two.
class EitherStop {
 public:
  EitherStop(const async::StopToken& one, const async::StopToken& other)
      : source_(one), at_other_(other, [this] { source_.stop(); }) {}
  async::StopToken token() const { return source_.token(); }

 private:
  async::StopSource source_;
  const async::StopCallback at_other_;
};

}  // namespace runnel::writing
