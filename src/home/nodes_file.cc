#include "home/nodes_file.h"

#include <string>

#include "env/files.h"
#include "env/machine.h"
#include "home/local_devices.h"
#include "home/named_file.h"
#include "home/prices.h"
#include "spec/nodes_file.h"

namespace runnel::home {
namespace {

constexpr Bytes kNodesFileMax = Bytes::mebi(16);

}  // namespace

Result<std::vector<model::NodeInfo>> nodes_of_home(const Home& home,
                                                   const std::vector<std::string>& device_command) {
  const std::vector<model::InstanceType> types = TRY(instance_types());
  if (TRY(env::is_there(home.nodes_file()))) {
    const std::string text = TRY(read_named_file("nodes", home.nodes_file(), kNodesFileMax));
    return spec::parse_nodes_file(text, home.nodes_file(), types);
  }
  const env::MachineCapacity machine = TRY(env::machine_capacity());
  model::NodeInfo local;
  local.id = NodeId("local");
  local.capacity.milli_cpus = machine.milli_cpus;
  local.capacity.memory = machine.memory;
  local.capacity.accelerators = local_devices(home, device_command).value_or(DeviceCounts());
  local.colocate = true;
  // Whoever has set prices wants to know what the machine would cost; one's own has none.
  if (env::exists(prices_path())) model::price_as(local, types);
  return std::vector<model::NodeInfo>{local};
}

}  // namespace runnel::home
