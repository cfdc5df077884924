#include "runner/strays.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace runnel::runner {

std::string Strays::key_of(Owner owner) const {
  return key_ + ":" + std::to_string(owner.place) + ":" + std::to_string(owner.rank);
}

Strays::Owner Strays::parse_key(const std::string& value) const {
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

void Strays::identify(pid_t pid, const World& world, Stray& stray) const {
  // The group first: it costs one call.
  const pid_t group = ::getpgid(pid);
  if (group > 0) stray.owner = world.of_group(group);
  if (stray.owner.place != 0) {
    stray.silent_since = {};
    return;
  }
  const std::optional<std::string> key = environment_value(pid, kAttemptKeyName);
  if (!key && world.now - stray.silent_since < kSilentMax) return;
  stray.silent_since = {};
  stray.detached = key == kDetachedKey;
  stray.owner = parse_key(key.value_or(""));
}

bool Strays::is_over(const Stray& stray, const World& world) {
  if (stray.detached || !stray.silent_since.is_zero()) return false;
  if (stray.owner.place != 0) return !world.is_alive(stray.owner);
  return world.oldest_place == 0 || world.oldest_place > stray.candidates;
}

void Strays::look(const World& world) {
  const std::vector<pid_t> children = children_.read();
  // The usual case: nobody but the leaders.
  if (known_.empty() && children.size() <= world.leaders) return;
  for (const pid_t pid : children) {
    if (world.is_leader(pid)) continue;
    const auto [found, is_new] = known_.try_emplace(pid);
    Stray& stray = found->second;
    if (is_new) {
      stray.candidates = world.newest_place;
      stray.silent_since = world.now;
    }
    if (!stray.silent_since.is_zero()) identify(pid, world, stray);
    if (is_over(stray, world)) ::kill(pid, SIGKILL);
  }
}

bool Strays::any_of(Owner owner) const {
  return std::any_of(known_.begin(), known_.end(), [&](const auto& entry) {
    const Stray& stray = entry.second;
    return stray.silent_since.is_zero() ? stray.owner == owner : stray.candidates >= owner.place;
  });
}

void Strays::signal(Owner owner, int signal_number) const {
  for (const auto& [pid, stray] : known_) {
    if (stray.owner == owner) ::kill(pid, signal_number);
  }
}

}  // namespace runnel::runner
