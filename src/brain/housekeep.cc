#include <string>

#include "brain/turn.h"

namespace runnel::brain {

void stop_asking(Turn& turn) {
  for (const auto& [at, key] : turn.index().deadlines) {
    if (at > turn.now()) return;
    turn.touch_step(key.job, key.step);
  }
}

void expire(Turn& turn) {
  while (!turn.index().keys.empty()) {
    const auto& [at, key] = *turn.index().keys.begin();
    if (turn.now() - at < turn.limits().key_life) break;
    turn.emit(model::KeyExpired{std::string(key)});
  }
  while (turn.state().finished.size() > turn.limits().finished_jobs) {
    turn.emit(model::JobArchived{turn.state().finished.front()});
  }
}

}  // namespace runnel::brain
