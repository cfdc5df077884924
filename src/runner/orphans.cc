#include "runner/orphans.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace runnel::runner {

std::string Orphans::key_of(Owner owner) const {
  return key_ + ":" + std::to_string(owner.place) + ":" + std::to_string(owner.rank);
}

Orphans::Owner Orphans::parse_key(const std::string& value) const {
  if (!value.starts_with(key_) || value.size() <= key_.size() || value[key_.size()] != ':') {
    return {};
  }
  char* end = nullptr;
  Owner owner;
  owner.place = std::strtoull(value.c_str() + key_.size() + 1, &end, 10);
  if (*end != ':') return {};
  owner.rank = static_cast<std::int32_t>(std::strtol(end + 1, &end, 10));
  return *end == '\0' ? owner : Owner();
}

void Orphans::identify(pid_t pid, const World& world, Orphan& orphan) const {
  // The group first: it costs one call.
  const pid_t group = ::getpgid(pid);
  if (group > 0) orphan.owner = world.of_group(group);
  if (orphan.owner.place != 0) {
    orphan.silent_since = {};
    return;
  }
  const std::optional<std::string> key = environment_value(pid, kAttemptKeyName);
  if (!key && world.now - orphan.silent_since < kSilentMax) return;
  orphan.silent_since = {};
  orphan.detached = key == kDetachedKey;
  orphan.owner = parse_key(key.value_or(""));
}

bool Orphans::is_over(const Orphan& orphan, const World& world) {
  if (orphan.detached || !orphan.silent_since.is_zero()) return false;
  if (orphan.owner.place != 0) return !world.is_alive(orphan.owner);
  return world.oldest_place == 0 || world.oldest_place > orphan.candidates;
}

void Orphans::look(const World& world) {
  const std::vector<pid_t> children = children_.read();
  // The usual case: nobody but the leaders.
  if (known_.empty() && children.size() <= world.leaders) return;
  for (const pid_t pid : children) {
    if (world.is_leader(pid)) continue;
    const auto [found, is_new] = known_.try_emplace(pid);
    Orphan& orphan = found->second;
    if (is_new) {
      orphan.candidates = world.newest_place;
      orphan.silent_since = world.now;
    }
    if (!orphan.silent_since.is_zero()) identify(pid, world, orphan);
    if (is_over(orphan, world)) ::kill(pid, SIGKILL);
  }
}

bool Orphans::any_of(Owner owner) const {
  return std::any_of(known_.begin(), known_.end(), [&](const auto& entry) {
    const Orphan& orphan = entry.second;
    return orphan.silent_since.is_zero() ? orphan.owner == owner : orphan.candidates >= owner.place;
  });
}

void Orphans::signal(Owner owner, int signal_number) const {
  for (const auto& [pid, orphan] : known_) {
    if (orphan.owner == owner) ::kill(pid, signal_number);
  }
}

}  // namespace runnel::runner
