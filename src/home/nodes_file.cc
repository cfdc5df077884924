#include "home/nodes_file.h"

#include <string>
#include <utility>

#include "env/files.h"
#include "env/machine.h"
#include "home/named_file.h"
#include "home/prices.h"
#include "spec/nodes_file.h"

namespace runnel::home {
namespace {

constexpr Bytes kNodesFileMax = Bytes::mebi(16);

}  // namespace

Result<HomeNodes> nodes_of_home(const Home& home, const std::vector<std::string>& device_command) {
  const std::vector<model::InstanceType> types = TRY(instance_types());
  if (TRY(env::is_there(home.nodes_file()))) {
    const std::string text = TRY(read_named_file("nodes", home.nodes_file(), kNodesFileMax));
    return HomeNodes{TRY(spec::parse_nodes_file(text, home.nodes_file(), types)), {}};
  }
  const env::MachineCapacity machine = TRY(env::machine_capacity());
  model::NodeInfo local;
  local.id = NodeId("local");
  local.capacity.milli_cpus = machine.milli_cpus;
  local.capacity.memory = machine.memory;
  MachineDevices devices = local_devices(home, device_command);
  local.capacity.accelerators = std::move(devices.counts);
  local.colocate = true;
  // A user who has set prices wants to know what the machine would cost; one's own has none.
  if (env::exists(prices_path())) model::price_as(local, types);
  return HomeNodes{{local}, std::move(devices.failed_look)};
}

}  // namespace runnel::home
