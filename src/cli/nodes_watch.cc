#include "cli/nodes_watch.h"

#include <string>
#include <utility>

#include "cli/job_source.h"

namespace runnel::cli {
namespace {

constexpr const char* kExample =
    "mend it, for example:\n"
    "nodes:\n"
    "  - {name: a, cpus: 8, memory: 32GB}\n"
    "  - {name: b, cpus: 16, memory: 64GB, accelerators: H100:2}";

}  // namespace

std::optional<NodesWatch::Stamp> NodesWatch::stamp_of(const Home& home) {
  const Result<env::FileId> id = env::file_id(home.nodes_file());
  const Result<env::FileInfo> info = env::file_info(home.nodes_file());
  if (!id.ok() || !info.ok()) return std::nullopt;
  return Stamp{*id, info->size, info->modified};
}

Async<void> NodesWatch::run(async::StopToken stop) {
  for (;;) {
    Result<void> slept = co_await loop_.sleep(kEvery, stop);
    CO_TRY(std::move(slept));
    if (call_) continue;  // The disk says nothing: one thread waits for it.
    Result<void> begun = begin();
    CO_TRY(std::move(begun));
  }
}

Result<void> NodesWatch::begin() {
  auto look = std::make_shared<Look>();
  const auto read = [look, home = home_, seen = seen_] {
    look->stamp = stamp_of(home);
    if (look->stamp != seen) look->nodes = nodes_of_home(home);
  };
  const auto done = [this, look] {
    call_.reset();
    take(std::move(*look));
  };
  call_.emplace(TRY(async::AbandonableCall::start(loop_, "home-nodes", read, done)));
  return {};
}

void NodesWatch::take(Look look) {
  seen_ = look.stamp;
  if (!look.nodes) return;
  problem_.reset();
  if (look.nodes->ok()) {
    if (**look.nodes != in_force_) on_change_(**std::move(look.nodes));
    return;
  }
  const std::string at = seen_ ? " at " + rfc3339(seen_->modified) : "";
  problem_ = {"nodes.yaml was changed" + at +
                  " and cannot be used, so the nodes of before stay in force: " +
                  look.nodes->error().to_string(),
              kExample};
}

}  // namespace runnel::cli
