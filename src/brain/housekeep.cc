#include <string>
#include <vector>

#include "brain/trials.h"
#include "brain/turn.h"

namespace runnel::brain {

void stop_asking(Turn& turn) {
  std::vector<StepKey> over;
  for (const auto& [at, key] : turn.index().deadlines) {
    if (at > turn.now()) break;
    over.push_back(key);
  }
  for (const StepKey& key : over) {
    steer_search(turn, key);
    turn.touch_step(key.job, key.step);
  }
}

void expire(Turn& turn) {
  while (!turn.index().keys.empty()) {
    const auto& [at, key] = *turn.index().keys.begin();
    if (turn.now() - at < turn.limits().key_life) break;
    turn.emit(model::KeyExpired{key.key, key.project, key.actor});
  }
  while (turn.state().finished.size() > turn.limits().finished_jobs) {
    turn.emit(model::JobArchived{turn.state().finished.front()});
  }
}

}  // namespace runnel::brain
