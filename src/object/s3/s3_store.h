#pragma once

#include <memory>
#include <string>

#include "http/outward_client.h"
#include "object/key.h"
#include "object/object_store.h"
#include "object/s3/credential_keeper.h"
#include "object/s3/s3_answer.h"
#include "object/store_url.h"

namespace runnel::object {

// Objects below a prefix of a bucket of S3, or of what speaks like it. docs/design/object.md.
//
// Contract: one request each; who wants retries puts a RetryStore around it. Keys whose session is
//           over are renewed and the request is made once more.
// Threads:  the loop's only.
// Lifetime: client and keys outlive it.
class S3Store final : public ObjectStore {
 public:
  // `settings` has the endpoint and the region; its keys are those of `keys`.
  S3Store(http::OutwardClient& client, CredentialKeeper& keys, const StoreUrl& url,
          const AwsSettings& settings, KeyRule rule = KeyRule::kEveryStore);

  Async<Object> get(std::string key, std::int64_t limit, async::StopToken stop) override;
  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override;
  Async<std::string> put(std::string key, Body bytes, Condition condition,
                         async::StopToken stop) override;
  Async<void> remove(std::string key, async::StopToken stop) override;
  Async<ListPage> list(std::string prefix, std::string after, async::StopToken stop) override;
  const std::string& name() const override { return name_; }

 private:
  std::string url_of(const std::string& key) const;
  // The answer, whatever its status; the request is signed.
  Async<http::Response> ask(http::OutwardRequest request, async::StopToken stop);
  Async<http::Response> ask_once(http::OutwardRequest request, Credentials keys,
                                 async::StopToken stop);
  Asked asked(const std::string& key, bool conditional = false) const {
    return {name_, key, conditional};
  }

  http::OutwardClient& client_;
  CredentialKeeper& keys_;
  const KeyRule rule_;
  const std::string region_;
  const std::string prefix_;      // With '/' at its end, or empty.
  const std::string bucket_url_;  // With '/' at its end.
  const std::string name_;
};

}  // namespace runnel::object
