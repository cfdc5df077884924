#include <algorithm>
#include <map>
#include <vector>

#include "brain/turn.h"

// The nodes of a home come, change and go by a declaration. It is decided as one, since a node that
// joins by itself would be given work beside others that are still what they were before.
namespace runnel::brain {
namespace {

std::vector<model::NodeLost> not_declared(const State& state,
                                          const std::vector<model::NodeInfo>& nodes) {
  std::vector<model::NodeLost> gone;
  for (const auto& [id, node] : state.nodes) {
    const bool is_declared = std::any_of(
        nodes.begin(), nodes.end(), [&](const model::NodeInfo& info) { return info.id == id; });
    if (is_declared || !node.is_member()) continue;
    gone.push_back({id, node.incarnation, std::string(model::kLeftReason)});
  }
  return gone;
}

}  // namespace

void on_declared(Turn& turn, const model::NodesDeclared& input) {
  for (const model::NodeLost& gone : not_declared(turn.state(), input.nodes)) on_lost(turn, gone);
  for (const model::NodeInfo& info : input.nodes) {
    const auto known = turn.state().nodes.find(info.id);
    const bool is_news =
        known != turn.state().nodes.end() && known->second.up && known->second.info != info;
    if (!is_news) continue;  // What is not up tells by its join.
    turn.emit(model::NodeJoined{info, known->second.incarnation, known->second.strangers});
    turn.want_plan();
  }
}

}  // namespace runnel::brain
