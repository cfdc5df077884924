#pragma once

#include <map>
#include <memory>
#include <string>

#include "object/open_store.h"
#include "object/store_finder.h"

namespace runnel::object {

// Buckets that are opened when they are asked for first, with this process's variables of AWS or
// those given.
//
// Contract: kDenied for what is no bucket: who names an object of another store could name any file
//           of whoever reads it. stop() is awaited before destruction, after the last call.
// Threads:  the loop's only.
// Lifetime: loop, clock and random outlive it.
// Limits:   kBucketsMax buckets; more are refused with kFull.
class OpenedBuckets final : public StoreFinder {
 public:
  static constexpr std::size_t kBucketsMax = 64;

  OpenedBuckets(async::EventLoop& loop, env::Clock& clock, env::Random& random,
                VariableOf variable = OpenedStore::own_variable);

  Result<ObjectStore*> find(const StoreUrl& url) override;
  Async<void> stop();

 private:
  async::EventLoop& loop_;
  env::Clock& clock_;
  env::Random& random_;
  const VariableOf variable_;
  std::map<std::string, std::unique_ptr<OpenedStore>> buckets_;  // By their URLs.
};

}  // namespace runnel::object
