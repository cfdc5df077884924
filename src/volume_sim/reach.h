#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "base/agenda.h"
#include "volume_sim/bucket.h"

namespace runnel::volume_sim {

// The volume of a key of the bucket.
std::string volume_of(const std::string& key);

// What manifests reach, each walked once: objects never change.
//
// Threads:  one.
// Lifetime: the bucket outlives it.
class Reach {
 public:
  using Keys = std::set<std::string>;

  explicit Reach(const Bucket& bucket);
  ~Reach();

  // The keys of all objects that files of the version need, the manifest's own among them; of a
  // clone they lie below one of `bases`, too. `with_chunks`: what puts may take over as well. An
  // error when the manifest or a page of the version is not there.
  Result<const Keys*> of(const std::string& manifest_key, const std::vector<std::string>& bases,
                         bool with_chunks);

 private:
  class Pages;
  Pages& pages(const std::string& volume, const std::vector<std::string>& bases);

  const Bucket& bucket_;
  Agenda agenda_;
  async::EventLoop loop_;
  std::map<std::vector<std::string>, std::unique_ptr<Pages>> pages_;  // By prefixes.
  std::map<std::pair<std::string, bool>, Keys> known_;
};

}  // namespace runnel::volume_sim
