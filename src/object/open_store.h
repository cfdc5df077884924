#pragma once

#include <memory>
#include <optional>

#include "async/event_loop.h"
#include "env/clock.h"
#include "env/random.h"
#include "object/local/local_store.h"
#include "object/metered_store.h"
#include "object/retry_store.h"
#include "object/s3/aws_settings.h"
#include "object/s3/s3_store.h"
#include "object/store_url.h"

namespace runnel::object {

// The store of a URL with everything that it stands on: counted, and, over a network, with retries.
//
// Contract: settings of S3 are read from the variables and files of AWS when it is opened; no other
//           address than the store's is ever asked. Variables are this process's, or as given.
// Threads:  the loop's only.
// Lifetime: stop() is awaited before destruction, after the last call.
class OpenedStore {
 public:
  // `rule`: which keys a bucket is to take; a folder takes those of every store.
  static Result<std::unique_ptr<OpenedStore>> open(async::EventLoop& loop, env::Clock& clock,
                                                   env::Random& random, const StoreUrl& url,
                                                   KeyRule rule = KeyRule::kEveryStore,
                                                   const VariableOf& variable = own_variable);
  // The same, where others have the loop, too: a folder, and the files of AWS, are looked at on a
  // thread.
  static Async<std::unique_ptr<OpenedStore>> open_beside(async::EventLoop& loop, env::Clock& clock,
                                                         env::Random& random, StoreUrl url,
                                                         KeyRule rule, VariableOf variable);
  // Of this process's environment.
  static std::optional<std::string> own_variable(const std::string& name);

  ObjectStore& store();
  const StoreMeter& meter() const { return metered_->meter(); }
  // Gives up the room that a folder holds for who frees room. False of a bucket, which holds none:
  // to try again is of no use.
  Async<bool> give_up_reserve();
  Async<void> stop();

 private:
  OpenedStore() = default;
  void take_folder(std::unique_ptr<LocalStore> folder, env::Clock& clock);
  Result<void> open_bucket(async::EventLoop& loop, env::Clock& clock, env::Random& random,
                           const StoreUrl& url, KeyRule rule, const AwsSettings& settings);

  std::unique_ptr<LocalStore> folder_;
  std::unique_ptr<http::OutwardClient> client_;
  std::unique_ptr<CredentialKeeper> keys_;
  std::optional<S3Store> bucket_;
  std::optional<MeteredStore> metered_;
  std::optional<RetryStore> retried_;
};

}  // namespace runnel::object
