#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/order.h"
#include "node/message.h"

namespace runnel::node {

// The text of messages between nodes and control: canonical JSON as in the log, of one version. A
// number, a count or a word that is out of its limits is kInvalid naming the field; a message of
// another version is kUnsupported. decode(encode(x)) == x.
inline constexpr std::int64_t kWireVersion = 1;

std::string encode_text(const Up& message);
std::string encode_text(const model::NodeOrders& orders);
Result<Up> decode_up(std::string_view text);
Result<model::NodeOrders> decode_orders(std::string_view text);

}  // namespace runnel::node
