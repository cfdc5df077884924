#include "model/node.h"

#include <functional>

#include <gtest/gtest.h>

namespace runnel::model {
namespace {

// The field that check_node() names after `change`; empty when it finds no fault.
std::string fault(const std::function<void(NodeInfo&)>& change) {
  NodeInfo node;
  node.id = NodeId("local");
  node.capacity = {2000, Bytes::gibi(8), {{"H100", 1}}};
  change(node);
  const Result<void> result = check_node(node);
  if (result.ok()) return "";
  EXPECT_EQ(result.error().code, Errc::kInvalid);
  EXPECT_FALSE(result.error().message.empty());
  return result.error().field;
}

TEST(Node, AnOrdinaryOneIsFine) {
  EXPECT_EQ(fault([](NodeInfo&) {}), "");
  EXPECT_EQ(fault([](NodeInfo& node) { node.capacity = Resources(); }), "");
  EXPECT_EQ(fault([](NodeInfo& node) { node.port_first = node.port_last = 65'535; }), "");
  EXPECT_EQ(fault([](NodeInfo& node) { node.capacity.memory = kMemoryMax; }), "");
}

TEST(Node, ItsFaultsAreNamed) {
  EXPECT_EQ(fault([](NodeInfo& node) { node.id = NodeId(); }), "id");
  EXPECT_EQ(fault([](NodeInfo& node) { node.port_first = 0; }), "port_first");
  EXPECT_EQ(fault([](NodeInfo& node) { node.port_first = 65'536; }), "port_first");
  EXPECT_EQ(fault([](NodeInfo& node) { node.port_last = node.port_first - 1; }), "port_last");
  EXPECT_EQ(fault([](NodeInfo& node) { node.port_last = 65'536; }), "port_last");
  EXPECT_EQ(fault([](NodeInfo& node) { node.price = Money::micros(-1); }), "price_micros");
}

TEST(Node, ItsCapacityKeepsTheLimits) {
  EXPECT_EQ(fault([](NodeInfo& node) { node.capacity.milli_cpus = -1; }), "capacity.milli_cpus");
  EXPECT_EQ(fault([](NodeInfo& node) { node.capacity.milli_cpus = kMilliCpusMax + 1; }),
            "capacity.milli_cpus");
  EXPECT_EQ(fault([](NodeInfo& node) { node.capacity.memory = kMemoryMax + Bytes::count(1); }),
            "capacity.memory");
  EXPECT_EQ(fault([](NodeInfo& node) { node.capacity.accelerators["H100"] = -1; }),
            "capacity.accelerators.H100");
  EXPECT_EQ(
      fault([](NodeInfo& node) { node.capacity.accelerators["H100"] = kAcceleratorsMax + 1; }),
      "capacity.accelerators.H100");
}

}  // namespace
}  // namespace runnel::model
