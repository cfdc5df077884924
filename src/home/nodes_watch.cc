#include "home/nodes_watch.h"

#include <string>
#include <utility>

#include "env/clock.h"
#include "home/nodes_file.h"

namespace runnel::home {
namespace {

constexpr const char* kExample =
    "mend it, for example:\n"
    "nodes:\n"
    "  - {name: a, cpus: 8, memory: 32GB}\n"
    "  - {name: b, cpus: 16, memory: 64GB, accelerators: H100:2}";

Result<NodesStamp> stamp_of(const std::string& path) {
  const std::string real = TRY(env::real_path(path));
  const env::FileId id = TRY(env::file_id(real));
  const env::FileInfo info = TRY(env::file_info(real));
  return NodesStamp{"", id, info.size, info.modified};
}

}  // namespace

std::optional<NodesStamp> nodes_stamp(const Home& home) {
  const Result<bool> there = env::is_there(home.nodes_file());
  if (there.ok() && !*there) return std::nullopt;
  Result<NodesStamp> stamp = stamp_of(home.nodes_file());
  return stamp.ok() ? std::move(*stamp) : NodesStamp{stamp.error().to_string(), {}, {}, {}};
}

NodesInForce read_nodes_in_force(const Home& home, const std::vector<std::string>& device_command) {
  NodesInForce file{nodes_stamp(home), {}, {}, {}};  // A file changed while it is read is another.
  Result<HomeNodes> nodes = nodes_of_home(home, device_command);
  if (nodes.ok()) {
    file.nodes = std::move(nodes->nodes);
    file.failed_look = std::move(nodes->failed_look);
    return file;
  }
  const bool dated = file.stamp && file.stamp->fault.empty();
  file.problem = {
      "nodes.yaml" + (dated ? " of " + rfc3339(file.stamp->modified) : "") +
          " cannot be used, so the nodes that the home had before, if any, stay in force: " +
          nodes.error().to_string(),
      kExample};
  return file;
}

std::function<NodesWatch::Look()> NodesWatch::look() const {
  return [home = home_, command = device_command_, before = read_, seen = seen_,
          failed = failed_look_] {
    Look look{nodes_stamp(home), {}};
    const bool again = failed && !failed->holds(env::real_clock().wall());
    if ((look.stamp == before && !again) || look.stamp != seen) return look;
    look.file = read_nodes_in_force(home, command);
    if (nodes_stamp(home) != look.stamp) look.file.reset();  // It was replaced meanwhile.
    return look;
  };
}

void NodesWatch::take(Look look) {
  seen_ = look.stamp;
  if (!look.file) return;
  read_ = seen_;
  problem_ = look.file->problem;
  failed_look_ = look.file->failed_look;
  if (!problem_ && look.file->nodes != in_force_) on_change_(*std::move(look.file));
}

}  // namespace runnel::home
