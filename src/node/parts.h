#pragma once

#include <cstddef>
#include <vector>

#include "node/message.h"

// What a node tells, in messages of a bounded size, and whole again.
namespace runnel::node {

// Reports in it, of ranks, metrics, health and devices.
std::size_t size_of(const News& news);

// `all` tells what `more` tells, too; of the looks at devices the later one.
void append(News& all, News more);

// The same in pieces of at most `size_max` reports each, to be told in this order: devices, metrics
// and health before the ranks that they are about. The metrics of one attempt, and with them its
// end, are never apart, though they be more: they are judged together. None when nothing is told.
std::vector<News> in_pieces(News news, std::size_t size_max);

// Takes all that the inventory tells but its last piece out of it, and numbers these parts in it:
// they are to be sent right before it.
std::vector<InventoryPart> take_parts(Inventory& inventory, std::size_t size_max);

// The inverse: what the parts told stands before what the inventory tells.
void make_whole(Inventory& inventory, std::vector<InventoryPart> parts);

}  // namespace runnel::node
