#include "agent/double_grants.h"

#include <gtest/gtest.h>

namespace runnel::agent {
namespace {

model::NodeInfo declaring(const std::string& name, std::map<std::string, std::int64_t> devices) {
  model::NodeInfo node;
  node.id = NodeId(name);
  node.capacity.accelerators = std::move(devices);
  return node;
}

TEST(DoubleGrants, NameTheNodesWhatHappensAndTheRemedy) {
  EXPECT_EQ(double_grant_notices({declaring("a", {{"H100", 2}}), declaring("b", {{"L4", 1}}),
                                  declaring("c", {{"MI300X", 1}}), declaring("d", {})}),
            std::vector<std::string>{
                "nodes a and b declare devices of one maker (H100) on this machine: each counts "
                "them from 0, so one device is given to tasks of several; declare them all on one "
                "node"});
}

TEST(DoubleGrants, OneNodeMayHaveSeveralKinds) {
  EXPECT_TRUE(double_grant_notices(
                  {declaring("a", {{"H100", 2}, {"L4", 1}}), declaring("b", {{"MI300X", 1}}),
                   declaring("c", {{"Gaudi3", 1}}), declaring("d", {{"Trainium2", 1}})})
                  .empty());
}

TEST(DoubleGrants, OfManyNodesSomeAreNamed) {
  EXPECT_EQ(nodes_text({NodeId("a")}), "node a");
  EXPECT_EQ(nodes_text({NodeId("a"), NodeId("b"), NodeId("c")}), "nodes a, b and c");
  EXPECT_EQ(nodes_text({NodeId("a"), NodeId("b"), NodeId("c"), NodeId("d"), NodeId("e")}),
            "nodes a, b, c and 2 others");
}

}  // namespace
}  // namespace runnel::agent
