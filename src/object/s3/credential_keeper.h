#pragma once

#include <memory>
#include <optional>
#include <string>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/worker.h"
#include "env/clock.h"
#include "object/s3/aws_settings.h"

namespace runnel::object {

// The keys that requests are signed with, renewed before they end.
//
// Contract: keys() asks the credential process when there are none yet, when those there are end
//           within kRenewBefore, and when refused() was told of them; who asks meanwhile waits for
//           the same answer. Keys of the environment and of files stay as they are. kDenied when
//           there are none at all.
// Threads:  the loop's; the process runs on a thread "s3-credentials".
// Lifetime: stop() is awaited before destruction.
class CredentialKeeper {
 public:
  static constexpr Duration kRenewBefore = Duration::minutes(5);
  static constexpr Duration kProcessMax = Duration::seconds(30);

  static Result<std::unique_ptr<CredentialKeeper>> create(async::EventLoop& loop, env::Clock& clock,
                                                          AwsSettings settings);

  Async<Credentials> keys(async::StopToken stop);
  // The store said that these are over.
  void refused(const Credentials& keys);
  Async<void> stop() { return worker_->stop(); }

  std::int64_t renewals() const { return renewals_; }

 private:
  CredentialKeeper(async::EventLoop& loop, env::Clock& clock, AwsSettings settings,
                   std::unique_ptr<async::Worker> worker)
      : clock_(clock),
        settings_(std::move(settings)),
        worker_(std::move(worker)),
        asked_(loop),
        keys_(settings_.keys) {}

  bool are_good() const;
  Async<void> renew();

  env::Clock& clock_;
  const AwsSettings settings_;
  std::unique_ptr<async::Worker> worker_;
  async::Notifier asked_;
  bool asking_ = false;
  std::optional<Credentials> keys_;
  std::int64_t renewals_ = 0;
};

}  // namespace runnel::object
