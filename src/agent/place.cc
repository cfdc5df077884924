#include "agent/place.h"

#include <string_view>
#include <utility>

#include "agent/environment.h"

namespace runnel::agent {
namespace {

constexpr std::string_view kDefaultCheckpointDir = "checkpoint";

// The most that the kernel hands to one program, and far more than a frame needs.
constexpr std::size_t kOrderBytesMax = 8 << 20;

std::size_t bytes_of(const std::vector<std::string>& texts) {
  std::size_t bytes = 0;
  for (const std::string& text : texts) bytes += text.size() + 8;
  return bytes;
}

// "./ckpt//" is "ckpt".
std::string plain_path(std::string_view path) {
  std::string plain = path.starts_with('/') ? "/" : "";
  while (!path.empty()) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (!part.empty() && part != ".") {
      if (!plain.empty() && plain.back() != '/') plain += '/';
      plain += part;
    }
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return plain;
}

}  // namespace

std::string checkpoint_dir(std::string_view named) {
  std::string plain = plain_path(named);
  return plain.empty() ? std::string(kDefaultCheckpointDir) : plain;
}

std::size_t bytes_of(const runner::PlaceStart& place) {
  std::size_t bytes = 1'024 + bytes_of(place.argv) + place.env.bytes().size();
  for (const runner::TextBlock& env : place.rank_env) bytes += env.bytes().size();
  return bytes;
}

Result<runner::PlaceStart> place_of(const PlaceContext& context, const NodeId& node,
                                    const model::StartOrder& order, const Readiness& ready) {
  std::vector<std::pair<std::string, std::string>> made = ready.secrets;
  made.insert(made.end(), ready.volumes.begin(), ready.volumes.end());
  RankEnvironments environments =
      TRY(rank_environments(order, context.inherited, made, context.python_path, ready.of_rank));
  runner::PlaceStart place;
  place.node = node;
  place.attempt = order.attempt;
  place.lane = order.lane;
  place.first_rank = order.first_rank;
  place.argv = order.argv;
  place.env = std::move(environments.shared);
  place.rank_env = std::move(environments.by_rank);
  place.workdir = order.workdir.empty() ? "/" : order.workdir;
  const bool lasting = order.keep_task_dir || order.num_nodes > 1;
  place.task_folder = lasting ? runner::TaskFolderKind::kLasting : runner::TaskFolderKind::kLane;
  place.checkpoint_dir = checkpoint_dir(order.checkpoint ? order.checkpoint->dir : "");
  place.memory_max = order.memory_max;
  place.max_duration = order.max_duration;
  place.grace = order.grace;
  place.max_log = order.max_log;
  place.port_check = order.first_rank == 0 ? order.port : 0;
  if (bytes_of(place) > kOrderBytesMax) {
    return Error(Errc::kInvalid, "command and environment take more than " +
                                     to_string(Bytes::count(kOrderBytesMax)));
  }
  TRY(runner::check_place(place));
  return place;
}

}  // namespace runnel::agent
