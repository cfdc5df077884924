#include "object/opened_buckets.h"

#include <utility>

namespace runnel::object {

OpenedBuckets::OpenedBuckets(async::EventLoop& loop, env::Clock& clock, env::Random& random,
                             VariableOf variable)
    : loop_(loop), clock_(clock), random_(random), variable_(std::move(variable)) {}

Result<ObjectStore*> OpenedBuckets::find(const StoreUrl& url) {
  const std::string name = url.to_string();
  const auto found = buckets_.find(name);
  if (found != buckets_.end()) return &found->second->store();
  if (url.scheme != StoreUrl::Scheme::kS3) {
    return Error(Errc::kDenied, "the files of a volume cannot be those of " + name)
        .with_value(name)
        .with_hint("only objects of a bucket can be linked: s3://BUCKET/PREFIX");
  }
  if (buckets_.size() == kBucketsMax) {
    return Error(Errc::kFull,
                 "files are in more than " + std::to_string(kBucketsMax) + " other buckets")
        .with_value(name);
  }
  auto opened = TRY(OpenedStore::open(loop_, clock_, random_, url, KeyRule::kBucket, variable_));
  return &buckets_.emplace(name, std::move(opened)).first->second->store();
}

Async<void> OpenedBuckets::stop() {
  for (const auto& [url, store] : buckets_) CO_TRY(co_await store->stop());
  buckets_.clear();
  co_return {};
}

}  // namespace runnel::object
