#include <set>

#include "brain/turn.h"

// A node that is taken away with a notice: its attempts are asked to save and end at once, are
// queued again without a charge, and what still lives at the end of the notice counts as lost.
namespace runnel::brain {
namespace {

using model::Status;

void ask_to_end(Turn& turn, LaneId id) {
  const Lane& lane = turn.state().lanes.at(id);
  std::vector<model::AttemptRef> attempts;
  for (const TaskIndex index : lane.queue) {
    const model::TaskRef task{lane.job, lane.step, index};
    const LiveAttempt& live = *find_task(turn.state(), task)->live;
    if (live.continues()) attempts.push_back({task, live.number});
  }
  for (const model::AttemptRef& attempt : attempts) {
    turn.emit(model::AttemptStopping{attempt, id, Status::kPreempted, "runnel"});
  }
}

}  // namespace

void on_notice(Turn& turn, const model::NodeNotice& input) {
  const auto node = turn.state().nodes.find(input.node);
  if (node == turn.state().nodes.end() || !node->second.up) return;
  if (node->second.leaves_at != Time()) return;  // It was told already.
  if (node->second.incarnation != input.incarnation) return;
  turn.emit(model::NodeLeaving{input.node, input.incarnation, input.leaves_at, input.reason});
  const auto lanes = turn.index().lanes_on.find(input.node);
  if (lanes == turn.index().lanes_on.end()) return;
  for (const LaneId lane : std::set<LaneId>(lanes->second)) ask_to_end(turn, lane);
}

void leave(Turn& turn) {
  while (!turn.index().leaving.empty() && turn.index().leaving.begin()->first <= turn.now()) {
    const NodeId id = turn.index().leaving.begin()->second;
    const Node& node = turn.state().nodes.at(id);
    on_lost(turn, {id, node.incarnation, node.reason});
  }
}

}  // namespace runnel::brain
