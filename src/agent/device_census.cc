#include "agent/device_census.h"

#include <algorithm>
#include <set>
#include <utility>

#include "agent/device_kind.h"
#include "agent/double_grants.h"
#include "base/check.h"
#include "model/fields.h"

namespace runnel::agent {

struct CensusRecord {
  std::vector<KnownDevice> known;
};

}  // namespace runnel::agent

namespace runnel::model {

template <>
struct Fields<agent::KnownDevice> {
  static void visit(auto& visit, auto& device) {
    visit("id", device.id, Required());
    visit("index", device.index);
    visit("kind", device.kind, Required());
    visit("node", device.node, Required());
  }
};

template <>
struct Fields<agent::CensusRecord> {
  static void visit(auto& visit, auto& record) { visit("known", record.known); }
};

}  // namespace runnel::model

namespace runnel::agent {
namespace {

std::string named(const std::string& kind, std::int64_t index, const NodeId& node) {
  return kind + ":" + std::to_string(index) + " of " + node.str();
}

std::string words_for(const SeenDevice& seen) {
  return seen.name.empty() ? seen.id : seen.name + " (" + seen.id + ")";
}

}  // namespace

DeviceCensus::DeviceCensus(const std::vector<model::NodeInfo>& nodes) {
  std::set<std::string> granted;  // By a node that does not withhold them,
  std::set<std::string> anew;     // and goes on taking work.
  for (const model::NodeInfo& node : nodes) {
    if (node.withholds_devices) continue;
    for (const auto& [kind, count] : node.capacity.accelerators) {
      granted.insert(kind);
      if (!node.draining) anew.insert(kind);
    }
  }
  for (const model::NodeInfo& node : nodes) {
    for (const auto& [kind, count] : node.capacity.accelerators) {
      const bool are_of_another = (node.withholds_devices && granted.contains(kind)) ||
                                  (node.draining && anew.contains(kind));
      if (!are_of_another) declare(node.id, kind, count);
    }
  }
}

void DeviceCensus::declare(const NodeId& node, const std::string& kind, std::int64_t count) {
  auto wanted = std::ranges::find(wanted_, kind, &Wanted::kind);
  if (wanted == wanted_.end()) wanted = wanted_.insert(wanted, {node, kind, 0, {}});
  wanted->count = std::max(wanted->count, count);
  wanted->nodes.push_back(node);
}

bool DeviceCensus::watches() const { return !std::ranges::all_of(wanted_, &Wanted::is_shared); }

void DeviceCensus::remember(std::vector<KnownDevice> known) {
  // A node that was renamed has the devices that its earlier name had, those that are missing too.
  for (KnownDevice& device : known) {
    const auto wanted = std::ranges::find(wanted_, device.kind, &Wanted::kind);
    if (wanted != wanted_.end() && !wanted->is_shared()) device.node = wanted->node;
  }
  std::erase_if(known, [this](const KnownDevice& device) {
    return std::ranges::none_of(wanted_, [&](const Wanted& wanted) {
      return !wanted.is_shared() && wanted.node == device.node && wanted.kind == device.kind &&
             device.index < wanted.count;
    });
  });
  known_ = std::move(known);
}

// A file does not say what it is, so it can only be of the one kind that is declared.
const DeviceCensus::Wanted* DeviceCensus::wanted_by(const SeenDevice& seen,
                                                    DeviceLook::By by) const {
  if (by == DeviceLook::By::kFiles) return wanted_.size() == 1 ? &wanted_.front() : nullptr;
  const Wanted* best = nullptr;
  for (const Wanted& wanted : wanted_) {
    if (!is_of_kind(seen.name, wanted.kind)) continue;
    if (best == nullptr || wanted.kind.size() > best->kind.size()) best = &wanted;
  }
  return best;
}

// It takes the lowest index that nobody has, or the place of one that is missing.
bool DeviceCensus::add(const Wanted& wanted, const SeenDevice& seen) {
  CHECK(!seen.id.empty(), "a device without an id of its own is added");
  std::map<std::int64_t, KnownDevice*> taken;
  for (KnownDevice& device : known_) {
    if (device.node == wanted.node && device.kind == wanted.kind) taken[device.index] = &device;
  }
  for (std::int64_t index = 0; index < wanted.count; ++index) {
    if (taken.contains(index)) continue;
    known_.push_back({seen.id, index, wanted.kind, wanted.node});
    return true;
  }
  for (const auto& [index, device] : taken) {
    if (!missing_.contains(device->id)) continue;
    CHECK(index == device->index, "a device stands under another index than its own");
    missing_.erase(device->id);
    device->id = seen.id;
    return true;
  }
  return false;
}

void DeviceCensus::miss(const DeviceLook& look, Time now) {
  CHECK(missing_.size() <= known_.size(), "more devices are missing than were seen");
  std::set<std::string> there;
  std::string reason =
      look.by == DeviceLook::By::kNvml ? "NVML lists it no more" : "its file in /dev is gone";
  for (const SeenDevice& seen : look.devices) {
    if (seen.fault.empty()) there.insert(seen.id);
    if (!seen.fault.empty() && seen.id.empty()) reason = seen.fault;
  }
  for (const KnownDevice& device : known_) {
    if (there.contains(device.id)) {
      missing_.erase(device.id);
      continue;
    }
    const auto told = std::ranges::find(look.devices, device.id, &SeenDevice::id);
    const std::string& why = told != look.devices.end() ? told->fault : reason;
    missing_.try_emplace(device.id, device.kind, device.index, why, now);
  }
}

bool DeviceCensus::meet(const SeenDevice& seen, DeviceLook::By by) {
  if (std::ranges::find(known_, seen.id, &KnownDevice::id) != known_.end()) return false;
  const Wanted* wanted = wanted_by(seen, by);
  if (wanted != nullptr && wanted->is_shared()) {
    ++shared_seen_[wanted->kind];
    return false;
  }
  if (wanted != nullptr && add(*wanted, seen)) return true;
  notices_.push_back("this machine has " + words_for(seen) +
                     ", which no node declares: it is granted to nobody");
  return false;
}

std::int64_t DeviceCensus::seen_of(const Wanted& wanted) const {
  if (wanted.is_shared()) {
    const auto seen = shared_seen_.find(wanted.kind);
    return seen == shared_seen_.end() ? 0 : seen->second;
  }
  return std::ranges::count_if(known_, [&](const KnownDevice& device) {
    return device.node == wanted.node && device.kind == wanted.kind;
  });
}

void DeviceCensus::compare(const Wanted& wanted) {
  const std::int64_t seen = seen_of(wanted);
  if (seen >= wanted.count) return;
  const std::string devices = std::to_string(wanted.count) + " " + wanted.kind + ", of which " +
                              std::to_string(seen) +
                              " were seen here: the declaration is believed, ";
  notices_.push_back(wanted.is_shared() ? nodes_text(wanted.nodes) + " declare up to " + devices +
                                              "and since several nodes declare them none is watched"
                                        : nodes_text(wanted.nodes) + " declares " + devices +
                                              "the others are not watched");
}

bool DeviceCensus::take(const DeviceLook& look, Time now) {
  const bool files = look.by == DeviceLook::By::kFiles;
  if (!known_.empty() && known_.front().id.starts_with('/') != files) {
    // A file says nothing of what was known by NVML's ids; what has a better id now gets it.
    if (files) return false;
    known_.clear();
    missing_.clear();
  }
  looked_ = true;
  notices_.clear();
  shared_seen_.clear();
  miss(look, now);
  bool changed = false;
  for (const SeenDevice& seen : look.devices) {
    if (!seen.fault.empty() || seen.id.empty()) continue;
    if (seen.mig) {
      notices_.push_back(words_for(seen) +
                         " is cut by MIG: it is granted whole, its instances are not");
    }
    changed = meet(seen, look.by) || changed;
  }
  for (const Wanted& wanted : wanted_) compare(wanted);
  return changed;
}

std::optional<model::DeviceReport> DeviceCensus::report(const NodeId& node) const {
  const bool any = std::ranges::find(known_, node, &KnownDevice::node) != known_.end();
  if (!looked_ || !any) return std::nullopt;
  model::DeviceReport report;
  for (const KnownDevice& device : known_) {
    const auto missing = missing_.find(device.id);
    if (device.node == node && missing != missing_.end()) report.missing.push_back(missing->second);
  }
  std::ranges::sort(report.missing, {},
                    [](const auto& device) { return std::pair(device.kind, device.index); });
  return report;
}

std::vector<std::string> DeviceCensus::notices() const {
  std::vector<std::string> all = notices_;
  for (const auto& [id, device] : missing_) {
    const auto known = std::ranges::find(known_, id, &KnownDevice::id);
    CHECK(known != known_.end(), "a device is missing that was never seen");
    all.push_back(named(device.kind, device.index, known->node) + " (" + id +
                  ") is missing since " + rfc3339(device.since) + ": " + device.reason);
  }
  return all;
}

std::string census_text(const std::vector<KnownDevice>& known) {
  return model::record_text(CensusRecord{known});
}

Result<std::vector<KnownDevice>> parse_census(std::string_view text) {
  CensusRecord record = TRY(model::parse_record<CensusRecord>(text));
  return std::move(record.known);
}

}  // namespace runnel::agent
