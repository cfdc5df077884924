#include "spec/prices_file.h"

namespace runnel::spec {

std::string_view shipped_prices() {
  return R"(# Prices in dollars per hour: Amazon EC2, Linux, on demand in us-east-1. Spot prices move all the
# time; these are typical ones. Copy this table to ~/.config/runnel/prices.yaml to change it.
instances:
  m5.large: {cpus: 2, memory: 8GiB, price: 0.096, spot_price: 0.036}
  m5.xlarge: {cpus: 4, memory: 16GiB, price: 0.192, spot_price: 0.072}
  m5.2xlarge: {cpus: 8, memory: 32GiB, price: 0.384, spot_price: 0.144}
  m5.4xlarge: {cpus: 16, memory: 64GiB, price: 0.768, spot_price: 0.288}
  m5.12xlarge: {cpus: 48, memory: 192GiB, price: 2.304, spot_price: 0.864}
  m5.24xlarge: {cpus: 96, memory: 384GiB, price: 4.608, spot_price: 1.728}
  p2.xlarge: {cpus: 4, memory: 61GiB, accelerators: "K80:1", price: 0.9, spot_price: 0.27}
  p2.8xlarge: {cpus: 32, memory: 488GiB, accelerators: "K80:8", price: 7.2, spot_price: 2.16}
  p2.16xlarge: {cpus: 64, memory: 732GiB, accelerators: "K80:16", price: 14.4, spot_price: 4.32}
  p3.2xlarge: {cpus: 8, memory: 61GiB, accelerators: "V100:1", price: 3.06, spot_price: 0.918}
  p3.8xlarge: {cpus: 32, memory: 244GiB, accelerators: "V100:4", price: 12.24, spot_price: 3.672}
  p3.16xlarge: {cpus: 64, memory: 488GiB, accelerators: "V100:8", price: 24.48, spot_price: 7.344}
)";
}

}  // namespace runnel::spec
