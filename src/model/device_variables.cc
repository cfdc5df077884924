#include "model/device_variables.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>

#include "base/ascii_case.h"
#include "base/check.h"

namespace runnel::model {
namespace {

// The maker whose driver counts and shows the devices of a kind.
enum class Maker : std::uint8_t { kNvidia, kAmd, kIntel, kGoogle, kOther };

constexpr std::array<std::string_view, 7> kNames = {
    "CUDA_DEVICE_ORDER",    "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES", "TPU_VISIBLE_CHIPS",    "ZE_AFFINITY_MASK"};
static_assert(std::is_sorted(kNames.begin(), kNames.end()));

// By the names that people give them; what says nothing is NVIDIA's, as nearly all are.
Maker maker_of(std::string_view kind) {
  constexpr std::array<std::pair<std::string_view, Maker>, 20> kMakers = {
      {{"amd", Maker::kAmd},      {"instinct", Maker::kAmd}, {"mi1", Maker::kAmd},
       {"mi2", Maker::kAmd},      {"mi3", Maker::kAmd},      {"mi4", Maker::kAmd},
       {"mi5", Maker::kAmd},      {"mi6", Maker::kAmd},      {"mi8", Maker::kAmd},
       {"radeon", Maker::kAmd},   {"arc", Maker::kIntel},    {"flex", Maker::kIntel},
       {"intel", Maker::kIntel},  {"max", Maker::kIntel},    {"pvc", Maker::kIntel},
       {"tpu", Maker::kGoogle},   {"gaudi", Maker::kOther},  {"inf", Maker::kOther},
       {"neuron", Maker::kOther}, {"tr", Maker::kOther}}};
  const std::string name = to_lower(kind);
  for (const auto& [begin, maker] : kMakers) {
    if (name.starts_with(begin)) return maker;
  }
  return Maker::kNvidia;
}

// By a name of the same maker.
std::string driver_of(std::string_view kind) {
  switch (maker_of(kind)) {
    case Maker::kNvidia: return "nvidia";
    case Maker::kAmd: return "amd";
    case Maker::kIntel: return "intel";
    case Maker::kGoogle: return "tpu";
    case Maker::kOther: break;
  }
  return to_lower(kind);
}

// A driver counts all its devices of the node, whatever kind they are: kind after kind by name.
std::int64_t count_before(const std::string& kind, const Resources& capacity) {
  std::int64_t before = 0;
  for (const auto& [other, count] : capacity.accelerators) {
    CHECK(count >= 0, "a node with fewer than no devices");
    if (other < kind && driver_of(other) == driver_of(kind)) before += count;
  }
  return before;
}

// "0,1,5".
std::string listed(const IntervalSet& indices) {
  std::string text;
  for (const auto& [begin, end] : indices.ranges()) {
    for (std::int64_t index = begin; index < end; ++index) {
      text += (text.empty() ? "" : ",") + std::to_string(index);
    }
  }
  return text;
}

void show(std::map<std::string, std::string>& variables, Maker maker, const IntervalSet& indices) {
  CHECK(!indices.empty(), "a maker of whom there is nothing has no entry");
  const std::string list = listed(indices);
  switch (maker) {
    case Maker::kNvidia:
      // As nvidia-smi counts; by default the fastest come first. Beside AMD's, which come before,
      // CUDA's variable tells of these: HIP's own goes before it.
      variables["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID";
      variables["CUDA_VISIBLE_DEVICES"] = list;
      variables["NVIDIA_VISIBLE_DEVICES"] = list;
      return;
    case Maker::kAmd: {
      // HIP counts among those that ROCR shows, and takes CUDA's variable for its own.
      const std::string among_shown = listed(IntervalSet::of(0, indices.size()));
      variables["ROCR_VISIBLE_DEVICES"] = list;
      variables["HIP_VISIBLE_DEVICES"] = among_shown;
      variables["CUDA_VISIBLE_DEVICES"] = among_shown;
      return;
    }
    case Maker::kIntel: variables["ZE_AFFINITY_MASK"] = list; return;
    case Maker::kGoogle: variables["TPU_VISIBLE_CHIPS"] = list; return;
    case Maker::kOther: return;  // RUNNEL_DEVICES tells.
  }
}

}  // namespace

std::vector<std::pair<std::string, std::string>> device_variables(const Devices& granted,
                                                                  const Resources& capacity) {
  // Empty, not unset: an unset variable would show a task every device that others were granted.
  std::map<std::string, std::string> variables = {{"CUDA_VISIBLE_DEVICES", ""},
                                                  {"HIP_VISIBLE_DEVICES", ""},
                                                  {"NVIDIA_VISIBLE_DEVICES", "void"},
                                                  {"ROCR_VISIBLE_DEVICES", ""},
                                                  {"ZE_AFFINITY_MASK", ""}};
  for (const auto& [driver, numbers] : machine_devices(granted, capacity)) {
    show(variables, maker_of(driver), numbers);
  }
  return {variables.begin(), variables.end()};
}

Devices machine_devices(const Devices& granted, const Resources& capacity) {
  Devices shown;
  for (const auto& [kind, indices] : granted) {
    const std::int64_t offset = count_before(kind, capacity);
    IntervalSet& numbers = shown[driver_of(kind)];
    for (const auto& [begin, end] : indices.ranges()) numbers.insert(offset + begin, offset + end);
  }
  return shown;
}

bool have_one_driver(std::string_view kind, std::string_view other) {
  return driver_of(kind) == driver_of(other);
}

bool is_device_variable(std::string_view name) {
  return std::binary_search(kNames.begin(), kNames.end(), name);
}

}  // namespace runnel::model
