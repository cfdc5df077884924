#include "spec/nodes_file.h"

#include <gtest/gtest.h>

namespace runnel::spec {
namespace {

std::string nodes_error_of(std::string_view text) {
  const auto nodes = parse_nodes_file(text, "nodes.yaml");
  return nodes.ok() ? "no error" : nodes.error().to_string();
}

TEST(NodesFile, ReadsEveryField) {
  const auto nodes = MUST(parse_nodes_file(R"(
nodes:
  - {name: a, cpus: 4, memory: 16GB}
  - name: b
    pool: gpu
    cpus: 0.5
    memory: 1TiB
    accelerators: {H100: 8, L4: 1}
    spot: true
    price: 2.25
    colocate: true
)",
                                           "nodes.yaml"));
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].id, NodeId("a"));
  EXPECT_EQ(nodes[0].pool, "local");
  EXPECT_EQ(nodes[0].capacity.milli_cpus, 4000);
  EXPECT_EQ(nodes[0].capacity.memory, Bytes::count(16'000'000'000));
  EXPECT_FALSE(nodes[0].spot);
  EXPECT_FALSE(nodes[0].colocate);
  EXPECT_EQ(nodes[1].pool, "gpu");
  EXPECT_EQ(nodes[1].capacity.milli_cpus, 500);
  EXPECT_EQ(nodes[1].capacity.accelerators,
            (std::map<std::string, std::int64_t>{{"H100", 8}, {"L4", 1}}));
  EXPECT_TRUE(nodes[1].spot);
  EXPECT_TRUE(nodes[1].colocate);
  EXPECT_EQ(nodes[1].price, Money::micros(2'250'000));
}

TEST(NodesFile, SaysWhatIsWrongWhere) {
  EXPECT_EQ(nodes_error_of(""),
            "nodes.yaml:1:1: a nodes file is a mapping, and this is nothing; write fields such as "
            "`nodes: ...`");
  EXPECT_EQ(nodes_error_of("nodes: []"), "nodes.yaml:1:8: nodes: 0 nodes; write from 1 to 10000");
  EXPECT_EQ(nodes_error_of("nodes: {a: 1}").substr(0, 62),
            "nodes.yaml:1:8: nodes: `nodes` is a list, and this is a mappin");
  EXPECT_EQ(nodes_error_of("nods: []"),
            "nodes.yaml:1:1: nods: 'nods' is not a field of a nodes file; did you mean `nodes`?");
  EXPECT_EQ(nodes_error_of("nodes: [{name: a, memory: 1GB}]"),
            "nodes.yaml:1:9: nodes.0: `cpus` is missing; add cpus: 4");
  EXPECT_EQ(nodes_error_of("nodes: [{name: a, cpu: 2, memory: 1GB}]"),
            "nodes.yaml:1:19: nodes.0.cpu: 'cpu' is not a field of a node; did you mean `cpus`?");
  EXPECT_EQ(nodes_error_of("nodes: [{cpus: 1, memory: 1GB}]"),
            "nodes.yaml:1:9: nodes.0: `name` is missing; add name: a");
  EXPECT_EQ(nodes_error_of("nodes: [{name: a, cpus: 1, memory: 1XB}]").substr(0, 52),
            "nodes.yaml:1:36: nodes.0.memory: '1XB' is not an amo");
  EXPECT_EQ(nodes_error_of("nodes: [{name: a, cpus: 1, memory: 1GB, gpus: 8}]"),
            "nodes.yaml:1:41: nodes.0.gpus: 'gpus' is not a field of a node; did you mean "
            "`accelerators`?");
  EXPECT_EQ(
      nodes_error_of(
          "nodes:\n- {name: a, cpus: 1, memory: 1GB}\n- {name: a, cpus: 1, memory: 1GB}\n"),
      "nodes.yaml:3:10: nodes.1.name: the node 'a' is listed twice; give each node a name of its "
      "own");
  EXPECT_EQ(nodes_error_of("nodes: [{name: a b, cpus: 1, memory: 1GB}]").substr(0, 40),
            "nodes.yaml:1:16: nodes.0.name: 'a b' can");
  EXPECT_EQ(nodes_error_of("nodes: [{name: a, cpus: 1, memory: 1GB, spot: maybe}]").substr(0, 60),
            "nodes.yaml:1:47: nodes.0.spot: 'maybe' is neither true nor f");
  EXPECT_EQ(nodes_error_of("nodes: [a]").substr(0, 50),
            "nodes.yaml:1:9: nodes.0: a node is a mapping, and ");
}

const std::vector<model::InstanceType>& price_list() {
  static const std::vector<model::InstanceType> kTypes = [] {
    model::InstanceType small{"small", {}, Money::micros(100'000), Money::micros(30'000)};
    small.capacity.milli_cpus = 4'000;
    small.capacity.memory = Bytes::gibi(16);
    model::InstanceType large = small;
    large.name = "large";
    large.capacity.milli_cpus = 64'000;
    large.price = Money::dollars(2);
    return std::vector<model::InstanceType>{small, large};
  }();
  return kTypes;
}

model::NodeInfo priced(const std::string& fields) {
  const std::string text = "nodes: [{name: a, cpus: 4, memory: 16GB" + fields + "}]";
  return MUST(parse_nodes_file(text, "nodes.yaml", price_list())).front();
}

TEST(NodesFile, ANodeIsPricedAsWhatItIs) {
  EXPECT_EQ(priced("").instance, "small");
  EXPECT_EQ(priced("").price, Money::micros(100'000));
  EXPECT_EQ(priced("").spot_price, Money::micros(30'000));
  EXPECT_EQ(priced(", instance: large").price, Money::dollars(2));
  EXPECT_EQ(priced(", price: 0").price, Money()) << "a machine that is paid for";
  EXPECT_EQ(priced(", price: 0").instance, "");
  EXPECT_EQ(priced(", spot_price: 0.01").spot_price, Money::micros(10'000));
}

TEST(NodesFile, AnUnknownInstanceIsNamedWithTheNearest) {
  const auto nodes = parse_nodes_file("nodes: [{name: a, cpus: 1, memory: 1GB, instance: lrge}]",
                                      "nodes.yaml", price_list());
  ASSERT_FALSE(nodes.ok());
  EXPECT_EQ(nodes.error().to_string(),
            "nodes.yaml:1:51: nodes.0.instance: 'lrge' is not in the table of prices; did you mean "
            "large?");
}

}  // namespace
}  // namespace runnel::spec
