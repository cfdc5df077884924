#include "model/node.h"

#include <string>

namespace runnel::model {
namespace {

constexpr std::int32_t kPortMax = 65'535;

Error invalid(const char* field, const char* message, std::string value) {
  return Error(Errc::kInvalid, message).with_field(field).with_value(std::move(value));
}

Error inside_capacity(Error error) { return error.with_field("capacity." + error.field); }

}  // namespace

Result<void> check_node(const NodeInfo& node) {
  if (node.id.empty()) return invalid("id", "a node needs a name", "");
  if (node.port_first < 1 || node.port_first > kPortMax) {
    return invalid("port_first", "a port is from 1 to 65535", std::to_string(node.port_first));
  }
  if (node.port_last < node.port_first || node.port_last > kPortMax) {
    return invalid("port_last", "the last port is from the first one to 65535",
                   std::to_string(node.port_last));
  }
  if (node.price_micros < 0) {
    return invalid("price_micros", "a price is not negative", std::to_string(node.price_micros));
  }
  Result<void> capacity = check_resources(node.capacity);
  if (!capacity.ok()) return inside_capacity(std::move(capacity).error());
  return {};
}

}  // namespace runnel::model
