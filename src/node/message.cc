#include "node/message.h"

namespace runnel::node {

const News& news_of(const Up& message) {
  if (const auto* inventory = std::get_if<Inventory>(&message.what)) return inventory->has;
  if (const auto* part = std::get_if<InventoryPart>(&message.what)) return part->has;
  if (const auto* report = std::get_if<Report>(&message.what)) return report->news;
  if (const auto* bye = std::get_if<GoodBye>(&message.what)) return bye->last;
  static const News kNothing;
  return kNothing;
}

}  // namespace runnel::node
