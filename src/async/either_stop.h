#pragma once

#include "async/stop_token.h"

namespace runnel::async {

// Stops with the first of two.
class EitherStop {
 public:
  EitherStop(const StopToken& one, const StopToken& other)
      : source_(one), at_other_(other, [this] { source_.stop(); }) {}
  StopToken token() const { return source_.token(); }

 private:
  StopSource source_;
  const StopCallback at_other_;
};

}  // namespace runnel::async
