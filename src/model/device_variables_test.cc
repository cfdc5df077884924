#include "model/device_variables.h"

#include <map>

#include <gtest/gtest.h>

namespace runnel::model {
namespace {

using Map = std::map<std::string, std::string>;

Map shown(const Devices& granted, const std::map<std::string, std::int64_t>& capacity) {
  Resources all;
  all.accelerators = capacity;
  const auto variables = device_variables(granted, all);
  return {variables.begin(), variables.end()};
}

TEST(DeviceVariables, HideAllFromAProcessThatWasGrantedNone) {
  EXPECT_EQ(shown({}, {{"H100", 8}}), (Map{{"CUDA_VISIBLE_DEVICES", ""},
                                           {"HIP_VISIBLE_DEVICES", ""},
                                           {"NVIDIA_VISIBLE_DEVICES", "void"},
                                           {"ROCR_VISIBLE_DEVICES", ""},
                                           {"ZE_AFFINITY_MASK", ""}}));
}

TEST(DeviceVariables, ShowThoseOfOneMakerAndHideTheOthers) {
  EXPECT_EQ(shown({{"H100", IntervalSet::of(3, 5)}}, {{"H100", 8}}),
            (Map{{"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                 {"CUDA_VISIBLE_DEVICES", "3,4"},
                 {"HIP_VISIBLE_DEVICES", ""},
                 {"NVIDIA_VISIBLE_DEVICES", "3,4"},
                 {"ROCR_VISIBLE_DEVICES", ""},
                 {"ZE_AFFINITY_MASK", ""}}));
  // HIP counts among what ROCR shows.
  EXPECT_EQ(shown({{"MI300X", IntervalSet::of(3, 5)}}, {{"MI300X", 8}}),
            (Map{{"CUDA_VISIBLE_DEVICES", "0,1"},
                 {"HIP_VISIBLE_DEVICES", "0,1"},
                 {"NVIDIA_VISIBLE_DEVICES", "void"},
                 {"ROCR_VISIBLE_DEVICES", "3,4"},
                 {"ZE_AFFINITY_MASK", ""}}));
  for (const char* kind : {"MI50", "MI60", "MI8", "MI250"}) {
    EXPECT_EQ(shown({{kind, IntervalSet::of(1, 2)}}, {{kind, 2}}).at("ROCR_VISIBLE_DEVICES"), "1")
        << kind;
  }
  EXPECT_EQ(shown({{"PVC", IntervalSet::of(1, 2)}}, {{"PVC", 2}}).at("ZE_AFFINITY_MASK"), "1");
  EXPECT_EQ(shown({{"TPU-v5e", IntervalSet::of(1, 2)}}, {{"TPU-v5e", 4}}).at("TPU_VISIBLE_CHIPS"),
            "1");
  const Map both = shown({{"H100", IntervalSet::of(1, 2)}, {"MI300X", IntervalSet::of(3, 4)}},
                         {{"H100", 2}, {"MI300X", 4}});
  EXPECT_EQ(both.at("CUDA_VISIBLE_DEVICES"), "1") << "no other device of NVIDIA's is shown";
  EXPECT_EQ(both.at("HIP_VISIBLE_DEVICES"), "0");
  EXPECT_EQ(both.at("ROCR_VISIBLE_DEVICES"), "3");
  EXPECT_EQ(shown({{"Trainium", IntervalSet::of(1, 2)}}, {{"Trainium", 4}}),
            shown({}, {{"Trainium", 4}}));
}

TEST(DeviceVariables, ADriverCountsAllItsDevicesOfTheNode) {
  const std::map<std::string, std::int64_t> node = {{"H100", 2}, {"L4", 4}, {"MI300X", 1}};
  EXPECT_EQ(shown({{"L4", IntervalSet::of(1, 3)}}, node).at("CUDA_VISIBLE_DEVICES"), "3,4");
  EXPECT_EQ(shown({{"H100", IntervalSet::of(1, 2)}, {"L4", IntervalSet::of(0, 1)}}, node)
                .at("CUDA_VISIBLE_DEVICES"),
            "1,2");
}

TEST(DeviceVariables, TheSameDeviceMayHaveSeveralNames) {
  const auto devices = [](const char* kind, std::int64_t index,
                          std::map<std::string, std::int64_t> node) {
    return machine_devices({{kind, IntervalSet::of(index, index + 1)}},
                           {.accelerators = std::move(node)});
  };
  EXPECT_EQ(devices("L4", 0, {{"H100", 2}, {"L4", 1}}), devices("H200", 2, {{"H200", 4}}));
  EXPECT_EQ(devices("H100", 1, {{"H100", 2}}), devices("H100", 1, {}));
  EXPECT_NE(devices("H100", 1, {{"A100", 1}}), devices("H100", 1, {}));
  EXPECT_NE(devices("H100", 0, {}), devices("MI300X", 0, {}));
  EXPECT_NE(devices("Trainium", 0, {}), devices("Inferentia", 0, {}));
}

TEST(DeviceVariables, AreKnownByTheirNames) {
  const auto all = {Devices{}, Devices{{"H100", IntervalSet::of(0, 1)}},
                    Devices{{"MI300X", IntervalSet::of(0, 1)}},
                    Devices{{"PVC", IntervalSet::of(0, 1)}},
                    Devices{{"TPU", IntervalSet::of(0, 1)}}};
  for (const Devices& granted : all) {
    for (const auto& [name, value] : device_variables(granted, {})) {
      EXPECT_TRUE(is_device_variable(name)) << name;
    }
  }
  EXPECT_FALSE(is_device_variable("CUDA_HOME"));
}

}  // namespace
}  // namespace runnel::model
