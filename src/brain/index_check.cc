#include "brain/index_check.h"

#include <algorithm>

namespace runnel::brain {
namespace {

// Also with what runs beside each of them, on hosts that take no work and stand in no list.
bool same_hosts(const sched::Cluster& a, const sched::Cluster& b) {
  return std::ranges::equal(a.hosts(), b.hosts(), [&](const auto* one, const auto* other) {
    return *one == *other && a.apart_of(*one) == b.apart_of(*other);
  });
}

// Without the entries that hold nothing: they say what no entry says.
template <typename Map>
Map filled(Map map) {
  std::erase_if(map, [](const auto& entry) { return entry.second == typename Map::mapped_type(); });
  return map;
}

}  // namespace

std::string check_index(const Index& followed, const State& state) {
  const Index built = Index::build(state);
  if (!same_hosts(followed.cluster, built.cluster)) return "cluster";
  if (!same_hosts(followed.known, built.known)) return "known";
  if (followed.ends != built.ends) return "ends";
  if (followed.ready != built.ready) return "ready";
  if (filled(followed.again) != filled(built.again)) return "again";
  if (filled(followed.suspects) != filled(built.suspects)) return "suspects";
  if (filled(followed.apart) != filled(built.apart)) return "apart";
  if (followed.backoffs != built.backoffs) return "backoffs";
  if (filled(followed.lanes_on) != filled(built.lanes_on)) return "lanes_on";
  if (filled(followed.devices) != filled(built.devices)) return "devices";
  if (followed.congested != built.congested) return "congested";
  if (followed.keys != built.keys) return "keys";
  if (followed.leaving != built.leaving) return "leaving";
  if (followed.returning != built.returning) return "returning";
  if (followed.deadlines != built.deadlines) return "deadlines";
  if (followed.leases != built.leases) return "leases";
  if (followed.released != built.released) return "released";
  return "";
}

}  // namespace runnel::brain
