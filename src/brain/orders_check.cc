#include "brain/orders_check.h"

#include <algorithm>

namespace runnel::brain {

std::string check_orders(const State& state, const model::NodeOrders& orders) {
  const auto node = state.nodes.find(orders.node);
  if (node == state.nodes.end()) return "";  // What made it known was void.
  for (const model::RankRef& stranger : node->second.strangers) {
    const auto found = std::find(orders.forget.begin(), orders.forget.end(), stranger.attempt);
    if (found == orders.forget.end()) continue;
    return "node " + orders.node.str() + " is to forget an attempt whose end it has to tell";
  }
  return "";
}

}  // namespace runnel::brain
