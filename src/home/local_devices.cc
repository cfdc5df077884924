#include "home/local_devices.h"

#include "agent/device_kind.h"
#include "agent/device_look.h"
#include "agent/device_watch.h"
#include "env/files.h"
#include "env/machine.h"
#include "env/process.h"
#include "model/fields.h"

namespace runnel::home {

struct LocalDevices {
  std::string boot_id;
  DeviceCounts devices;
};

}  // namespace runnel::home

namespace runnel::model {

template <>
struct Fields<home::LocalDevices> {
  static void visit(auto& visit, auto& local) {
    visit("boot_id", local.boot_id);
    visit("devices", local.devices, Number{.min = 1, .max = kAcceleratorsMax});
  }
};

}  // namespace runnel::model

namespace runnel::home {
namespace {

std::optional<DeviceCounts> kept(const Home& home, const std::string& boot_id) {
  const Result<std::string> text = env::read_file(home.local_devices());
  if (!text.ok()) return std::nullopt;
  Result<LocalDevices> local = model::parse_record<LocalDevices>(*text);
  if (!local.ok() || local->boot_id != boot_id) return std::nullopt;
  return std::move(local->devices);
}

// What a task sees is hidden from it by its own daemon, which knows all of them.
bool shows_some_only() {
  const bool in_task = env::variable("RUNNEL_API").has_value();
  return !in_task && env::variable("CUDA_VISIBLE_DEVICES").has_value();
}

Result<DeviceCounts> look(const std::vector<std::string>& command) {
  const agent::DeviceLook found =
      TRY(agent::look_in_process(command, agent::DeviceWatch::kAnswersWithin));
  DeviceCounts devices;
  for (const agent::SeenDevice& seen : found.devices) {
    const std::string kind = agent::kind_of(seen.name);
    if (seen.fault.empty() && !kind.empty()) ++devices[kind];
  }
  return devices;
}

// Where it cannot be kept, for want of room or of a home, the next one looks again.
void keep(const Home& home, const LocalDevices& local) {
  if (!env::exists(home.version())) return;
  (void)env::write_file_atomically(home.local_devices(), model::record_text(local),
                                   env::Access::kOwner);
}

}  // namespace

Result<std::vector<std::string>> device_command(const Home& home) {
  return std::vector<std::string>{TRY(env::executable_path()), "--home", home.root, "devices"};
}

Result<DeviceCounts> local_devices(const Home& home, const std::vector<std::string>& command) {
  if (command.empty() || shows_some_only()) return DeviceCounts();
  const std::string boot_id = TRY(env::boot_id());
  if (std::optional<DeviceCounts> known = kept(home, boot_id)) return *std::move(known);
  LocalDevices local{boot_id, TRY(look(command))};
  keep(home, local);
  return std::move(local.devices);
}

}  // namespace runnel::home
