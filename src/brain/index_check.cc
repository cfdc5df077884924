#include "brain/index_check.h"

namespace runnel::brain {
namespace {

std::string text_of(const sched::Cluster& cluster) {
  std::string text;
  for (const sched::Host* host : cluster.hosts()) {
    text += host->id.str() + " " + host->free.describe() + ", overdrawn " +
            host->overdrawn.describe() + ", apart " + std::to_string(host->apart) +
            (host->withheld ? ", withheld; " : "; ");
  }
  return text;
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
  if (text_of(followed.cluster) != text_of(built.cluster)) return "cluster";
  if (text_of(followed.known) != text_of(built.known)) return "known";
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
