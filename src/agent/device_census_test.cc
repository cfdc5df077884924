#include "agent/device_census.h"

#include <gtest/gtest.h>

namespace runnel::agent {
namespace {

model::NodeInfo node_with(const std::string& name, std::map<std::string, std::int64_t> devices) {
  model::NodeInfo node;
  node.id = NodeId(name);
  node.capacity.accelerators = std::move(devices);
  return node;
}

SeenDevice h100(int number) {
  SeenDevice seen;
  seen.id = "GPU-" + std::to_string(number);
  seen.name = "NVIDIA H100 80GB HBM3";
  seen.index = number;
  return seen;
}

DeviceLook look(std::vector<int> numbers) {
  DeviceLook look;
  for (const int number : numbers) look.devices.push_back(h100(number));
  return look;
}

std::vector<std::int64_t> missing(const DeviceCensus& census, const std::string& node = "gpu") {
  std::vector<std::int64_t> indices;
  const auto report = census.report(NodeId(node));
  if (!report) return {-1};
  for (const model::MissingDevice& device : report->missing) indices.push_back(device.index);
  return indices;
}

using Indices = std::vector<std::int64_t>;

TEST(DeviceCensus, WhatWasSeenOnceAndIsNotThereIsMissing) {
  DeviceCensus census({node_with("gpu", {{"H100", 4}})});
  EXPECT_EQ(missing(census), Indices{-1});
  EXPECT_TRUE(census.take(look({0, 1, 2, 3}), Time::from_millis(5)));
  EXPECT_EQ(missing(census), Indices{});
  EXPECT_FALSE(census.take(look({0, 2, 3}), Time::from_millis(9)));
  EXPECT_EQ(missing(census), Indices{1});
  EXPECT_EQ(census.report(NodeId("gpu"))->missing[0].since, Time::from_millis(9));
  EXPECT_EQ(census.report(NodeId("gpu"))->missing[0].reason, "NVML lists it no more");
  EXPECT_EQ(census.notices().size(), 1U);
  census.take(look({0, 1, 2, 3}), Time::from_millis(20));
  EXPECT_EQ(missing(census), Indices{});
}

// The driver counts anew; a device keeps the index that tasks were granted.
TEST(DeviceCensus, ALaterLifeKnowsWhichIsMissing) {
  DeviceCensus first({node_with("gpu", {{"H100", 3}})});
  first.take(look({10, 11, 12}), {});
  DeviceCensus later({node_with("gpu", {{"H100", 3}})});
  later.remember(parse_census(census_text(first.known())).value());
  later.take(look({10, 12}), {});
  EXPECT_EQ(missing(later), Indices{1});
}

TEST(DeviceCensus, ANewDeviceTakesThePlaceOfTheOneThatIsGone) {
  DeviceCensus census({node_with("gpu", {{"H100", 2}})});
  census.take(look({0, 1}), {});
  EXPECT_TRUE(census.take(look({1, 7}), {}));
  EXPECT_EQ(missing(census), Indices{});
  census.take(look({7}), {});
  EXPECT_EQ(missing(census), Indices{1});
}

TEST(DeviceCensus, TheDriverSaysWhyADeviceIsLost) {
  DeviceCensus census({node_with("gpu", {{"H100", 2}})});
  census.take(look({0, 1}), {});
  DeviceLook lost = look({0});
  SeenDevice without_id;
  without_id.fault = "NVML: GPU is lost";
  lost.devices.push_back(without_id);
  census.take(lost, {});
  EXPECT_EQ(census.report(NodeId("gpu"))->missing.at(0).reason, "NVML: GPU is lost");
}

TEST(DeviceCensus, ADeclarationIsBelievedAndTheDifferenceTold) {
  DeviceCensus census({node_with("gpu", {{"H100", 8}})});
  census.take(look({0, 1}), {});
  EXPECT_EQ(missing(census), Indices{});
  ASSERT_EQ(census.notices().size(), 1U);
  EXPECT_NE(census.notices()[0].find("declares 8 H100, of which 2 were seen"), std::string::npos);
  DeviceCensus smaller({node_with("gpu", {{"H100", 1}})});
  smaller.take(look({0, 1}), {});
  EXPECT_NE(smaller.notices().at(0).find("which no node declares"), std::string::npos);
}

TEST(DeviceCensus, OfAMachineWithoutWhatIsDeclaredNothingIsMissing) {
  DeviceCensus census({node_with("gpu", {{"H100", 8}})});
  census.take(DeviceLook{DeviceLook::By::kFiles, {}, ""}, {});
  EXPECT_EQ(missing(census), Indices{-1});
}

TEST(DeviceCensus, AKindThatTwoNodesDeclareIsNotWatched) {
  EXPECT_FALSE(
      DeviceCensus({node_with("a", {{"H100", 1}}), node_with("b", {{"H100", 1}})}).watches());
  EXPECT_FALSE(DeviceCensus({node_with("a", {})}).watches());
}

TEST(DeviceCensus, ANodeThatWithholdsDevicesIsWatchedUnlessAnotherHasThem) {
  model::NodeInfo withholds = node_with("b", {{"H100", 2}});
  withholds.withholds_devices = true;
  DeviceCensus alone({withholds});
  EXPECT_TRUE(alone.watches());
  alone.take(look({0, 1}), {});
  alone.take(look({0}), {});
  EXPECT_EQ(missing(alone, "b"), Indices{1});

  model::NodeInfo drains = node_with("a", {{"H100", 2}});
  drains.draining = true;
  DeviceCensus beside({drains, withholds});
  beside.take(look({0, 1}), {});
  beside.take(look({0}), {});
  EXPECT_EQ(missing(beside, "a"), Indices{1});
  EXPECT_EQ(missing(beside, "b"), Indices{-1});
}

TEST(DeviceCensus, WhatTwoNodesDeclareIsCompared) {
  DeviceCensus census({node_with("a", {{"H100", 2}}), node_with("b", {{"H100", 4}})});
  EXPECT_TRUE(census.looks());
  EXPECT_FALSE(census.take(look({0, 1}), {}));
  EXPECT_EQ(census.notices(),
            std::vector<std::string>{
                "nodes a and b declare up to 4 H100, of which 2 were seen here: the declaration is "
                "believed, and since several nodes declare them none is watched"});
  EXPECT_EQ(missing(census, "a"), Indices{-1});
  census.take(look({0, 1, 2, 3}), {});
  EXPECT_TRUE(census.notices().empty());
}

TEST(DeviceCensus, InstancesOfMigAreTold) {
  DeviceCensus census({node_with("gpu", {{"H100", 1}})});
  DeviceLook cut = look({0});
  cut.devices[0].mig = true;
  census.take(cut, {});
  EXPECT_NE(census.notices().at(0).find("is cut by MIG"), std::string::npos);
}

TEST(DeviceCensus, AFileSaysNothingOfWhatNvmlKnew) {
  DeviceCensus census({node_with("gpu", {{"H100", 2}})});
  census.take(look({0, 1}), {});
  census.take(DeviceLook{DeviceLook::By::kFiles, {}, ""}, {});
  EXPECT_EQ(missing(census), Indices{});
}

TEST(DeviceCensus, WhatIsNoMoreDeclaredIsForgotten) {
  DeviceCensus first({node_with("gpu", {{"H100", 3}})});
  first.take(look({0, 1, 2}), {});
  DeviceCensus smaller({node_with("gpu", {{"H100", 2}})});
  smaller.remember(first.known());
  EXPECT_EQ(smaller.known().size(), 2U);
  DeviceCensus other({node_with("gpu", {{"L4", 3}})});
  other.remember(first.known());
  EXPECT_TRUE(other.known().empty());
}

TEST(DeviceCensus, ANodeThatWasRenamedKnowsWhichIsMissing) {
  DeviceCensus first({node_with("old", {{"H100", 4}})});
  first.take(look({0, 1, 2, 3}), {});
  first.take(look({0, 2, 3}), {});
  DeviceCensus later({node_with("new", {{"H100", 4}})});
  later.remember(first.known());
  later.take(look({0, 2, 3}), {});
  EXPECT_EQ(missing(later, "new"), Indices{1});
  later.take(look({0, 2}), {});
  EXPECT_EQ(missing(later, "new"), (Indices{1, 3})) << "each keeps its index";

  model::NodeInfo drains = node_with("old", {{"H100", 4}});
  drains.draining = true;
  DeviceCensus meanwhile({drains, node_with("new", {{"H100", 4}})});
  meanwhile.remember(first.known());
  meanwhile.take(look({0, 2, 3}), {});
  EXPECT_EQ(missing(meanwhile, "new"), Indices{1}) << "what still runs on the old one has none";
}

TEST(DeviceCensus, EachKindIsOfTheNodeThatDeclaresIt) {
  DeviceCensus census({node_with("big", {{"H100", 1}}), node_with("small", {{"RTX4090", 1}})});
  DeviceLook both = look({0});
  SeenDevice card;
  card.id = "GPU-x";
  card.name = "NVIDIA GeForce RTX 4090";
  card.index = 1;
  both.devices.push_back(card);
  census.take(both, {});
  census.take(look({0}), {});
  EXPECT_EQ(missing(census, "big"), Indices{});
  EXPECT_EQ(missing(census, "small"), Indices{0});
}

// Found by a hostile tester: an L40S took the place of an L4, whose task was told nothing.
TEST(DeviceCensus, AKindIsNotAnotherWhoseNameItBegins) {
  for (const std::string first : {"NVIDIA L40S", "NVIDIA L4"}) {
    DeviceCensus census({node_with("gpu", {{"L4", 1}, {"L40S", 1}})});
    DeviceLook both = look({0, 1});
    both.devices[0].name = first;
    both.devices[1].name = first == "NVIDIA L4" ? "NVIDIA L40S" : "NVIDIA L4";
    census.take(both, {});
    EXPECT_TRUE(census.notices().empty()) << census.notices()[0];
    std::erase_if(both.devices, [](const SeenDevice& seen) { return seen.name == "NVIDIA L4"; });
    census.take(both, {});
    const auto report = census.report(NodeId("gpu"));
    ASSERT_TRUE(report);
    ASSERT_EQ(report->missing.size(), 1U);
    EXPECT_EQ(report->missing[0].kind, "L4");
  }
}

TEST(DeviceCensus, OfTwoKindsThatFitTheLongerIsMeant) {
  DeviceCensus census({node_with("gpu", {{"A100", 1}, {"A100 SXM4 80GB", 1}})});
  DeviceLook one = look({0});
  one.devices[0].name = "NVIDIA A100-SXM4-80GB";
  census.take(one, {});
  ASSERT_EQ(census.known().size(), 1U);
  EXPECT_EQ(census.known()[0].kind, "A100 SXM4 80GB");
}

TEST(DeviceCensus, FilesAreOfTheOnlyKindThatIsDeclared) {
  DeviceLook files;
  files.by = DeviceLook::By::kFiles;
  files.devices.resize(2);
  files.devices[0].id = "/dev/nvidia0";
  files.devices[1].id = "/dev/nvidia1";
  DeviceCensus census({node_with("gpu", {{"L4", 2}})});
  census.take(files, {});
  files.devices.pop_back();
  census.take(files, {});
  EXPECT_EQ(missing(census), Indices{1});
  EXPECT_EQ(census.report(NodeId("gpu"))->missing[0].reason, "its file in /dev is gone");
  // Once NVML is there, its ids count.
  census.take(look({}), {});
  EXPECT_TRUE(census.known().empty());
  DeviceCensus two({node_with("gpu", {{"L4", 2}, {"H100", 1}})});
  two.take(files, {});
  EXPECT_TRUE(two.known().empty());
}

}  // namespace
}  // namespace runnel::agent
