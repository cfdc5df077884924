#include "model/node.h"

#include <string>

namespace runnel::model {
namespace {

constexpr std::int32_t kPortMax = 65'535;

Error invalid(const char* field, const char* message, std::string value) {
  return Error(Errc::kInvalid, message).with_field(field).with_value(std::move(value));
}

Result<void> check_price(const char* field, Money price) {
  if (price >= Money() && price <= kPriceMax) return {};
  return invalid(field, "a price is from 0 to a million dollars an hour",
                 std::to_string(price.micros()));
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
  TRY(check_price("price_micros", node.price));
  TRY(check_price("spot_price_micros", node.spot_price));
  Result<void> capacity = check_resources(node.capacity);
  if (!capacity.ok()) return inside_capacity(std::move(capacity).error());
  return {};
}

}  // namespace runnel::model
