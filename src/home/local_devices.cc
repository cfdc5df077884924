#include "home/local_devices.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "agent/device_kind.h"
#include "agent/device_look.h"
#include "agent/device_watch.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/machine.h"
#include "env/process.h"
#include "model/fields.h"

namespace runnel::home {

// The last look, and the machine as it was shown then.
struct KeptLook {
  std::string boot_id;
  DeviceCounts devices;
  std::optional<FailedLook> failed;
  std::optional<Time> passing_since;  // It may be another within this boot.
  std::vector<std::string> files;     // In /dev, of NVIDIA's devices.
};

}  // namespace runnel::home

namespace runnel::model {

template <>
struct Fields<home::FailedLook> {
  static void visit(auto& visit, auto& failed) {
    visit("at", failed.at);
    visit("why", failed.why);
  }
};

template <>
struct Fields<home::KeptLook> {
  static void visit(auto& visit, auto& kept) {
    visit("boot_id", kept.boot_id);
    visit("devices", kept.devices, Number{.min = 1, .max = kAcceleratorsMax});
    visit("failed", kept.failed);
    visit("passing_since", kept.passing_since);
    visit("files", kept.files);
  }
};

}  // namespace runnel::model

namespace runnel::home {
namespace {

bool is_device_file(std::string_view name) {
  constexpr std::string_view kPrefix = "nvidia";
  if (!name.starts_with(kPrefix) || name.size() == kPrefix.size()) return false;
  return name.find_first_not_of("0123456789", kPrefix.size()) == std::string_view::npos;
}

// Nothing is known of it yet.
Result<KeptLook> machine_now(const std::string& dev) {
  KeptLook machine{TRY(env::boot_id()), {}, {}, {}, {}};
  machine.files = env::list_directory(dev).value_or({});
  std::erase_if(machine.files, [](const std::string& name) { return !is_device_file(name); });
  return machine;
}

bool holds(const KeptLook& kept, Time now) {
  if (kept.failed) return kept.failed->holds(now);
  if (!kept.passing_since) return !kept.devices.empty();
  return *kept.passing_since <= now && now < *kept.passing_since + kLookHolds;
}

// The look that was kept of this machine as it is shown now.
std::optional<KeptLook> kept_look(const Home& home, const KeptLook& machine) {
  const Result<std::string> text = env::read_file(home.local_devices());
  if (!text.ok()) return std::nullopt;
  Result<KeptLook> kept = model::parse_record<KeptLook>(*text);
  if (!kept.ok() || kept->boot_id != machine.boot_id) return std::nullopt;
  if (kept->files != machine.files) return std::nullopt;
  return *std::move(kept);
}

// A task's own daemon hides devices from it, and knows all of them.
bool shows_some_only() {
  const bool in_task = env::variable("RUNNEL_API").has_value();
  return !in_task && env::variable("CUDA_VISIBLE_DEVICES").has_value();
}

Result<void> refuse_other_order(std::vector<agent::SeenDevice> devices) {
  std::ranges::sort(devices, {}, &agent::SeenDevice::index);
  std::vector<std::string> kinds;
  for (const agent::SeenDevice& seen : devices) {
    std::string kind = agent::kind_of(seen.name);
    if (!kind.empty() && (kinds.empty() || kinds.back() != kind)) kinds.push_back(std::move(kind));
  }
  if (std::ranges::is_sorted(kinds)) return {};
  std::string order;
  for (const std::string& kind : kinds) order += (order.empty() ? "" : ", ") + kind;
  return Error(Errc::kUnsupported, "their driver counts them in the order " + order +
                                       ", and devices are granted in the order of their names")
      .with_hint(
          "declare them in nodes.yaml, and give each job that asks for one the index which "
          "nvidia-smi shows, as CUDA_VISIBLE_DEVICES in its envs");
}

struct Counted {
  DeviceCounts devices;
  bool lasting = false;  // The same until the machine boots.
};

Result<Counted> look(const std::vector<std::string>& command) {
  const agent::DeviceLook found =
      TRY(agent::look_in_process(command, agent::DeviceWatch::kAnswersWithin));
  TRY(refuse_other_order(found.devices));
  Counted counted;
  bool faults = false;
  for (const agent::SeenDevice& seen : found.devices) {
    const std::string kind = agent::kind_of(seen.name);
    faults = faults || !seen.fault.empty();
    if (seen.fault.empty() && !kind.empty()) ++counted.devices[kind];
  }
  const bool by_driver = found.by == agent::DeviceLook::By::kNvml;
  counted.lasting = by_driver && !faults && !counted.devices.empty();
  return counted;
}

// Where it cannot be kept, for want of room or of a home, the next one looks again.
void keep(const Home& home, const KeptLook& kept) {
  if (!env::exists(home.version())) return;
  (void)env::write_file_atomically(home.local_devices(), model::record_text(kept),
                                   env::Access::kOwner);
}

FailedLook failed_now(const Error& error) { return {env::real_clock().wall(), error.to_string()}; }

MachineDevices look_and_keep(const Home& home, KeptLook machine,
                             const std::vector<std::string>& command) {
  const Result<Counted> counted = look(command);
  if (!counted.ok()) {
    machine.failed = failed_now(counted.error());
  } else {
    machine.devices = counted->devices;
    if (!counted->lasting) machine.passing_since = env::real_clock().wall();
  }
  keep(home, machine);
  return {std::move(machine.devices), std::move(machine.failed)};
}

}  // namespace

Result<std::vector<std::string>> device_command(const Home& home) {
  return std::vector<std::string>{TRY(env::executable_path()), "--home", home.root, "devices"};
}

MachineDevices local_devices(const Home& home, const std::vector<std::string>& command,
                             const std::string& dev) {
  if (command.empty() || shows_some_only()) return {};
  Result<KeptLook> machine = machine_now(dev);
  if (!machine.ok()) return {{}, failed_now(machine.error())};
  std::optional<KeptLook> kept = kept_look(home, *machine);
  const Time now = env::real_clock().wall();
  if (kept && holds(*kept, now)) return {std::move(kept->devices), std::move(kept->failed)};
  if (kept && kept->failed) {  // Others that come meanwhile need not wait, too.
    kept->failed->at = now;
    keep(home, *kept);
  }
  return look_and_keep(home, *std::move(machine), command);
}

}  // namespace runnel::home
