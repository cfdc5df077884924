#include "object/s3/credential_keeper.h"

#include <utility>

#include "env/subprocess.h"

namespace runnel::object {
namespace {

Error no_keys() {
  return Error(Errc::kDenied, "there are no keys for S3")
      .with_field("AWS_ACCESS_KEY_ID")
      .with_hint("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name an AWS_PROFILE");
}

Result<Credentials> ask(const std::string& command) {
  const std::string text = TRY(env::output_of(
      {.argv = {"/bin/sh", "-c", command}, .runs_at_most = CredentialKeeper::kProcessMax}));
  return parse_process_credentials(text);
}

}  // namespace

Result<std::unique_ptr<CredentialKeeper>> CredentialKeeper::create(async::EventLoop& loop,
                                                                   env::Clock& clock,
                                                                   AwsSettings settings) {
  auto worker = TRY(async::Worker::create(loop, {.name = "s3-credentials"}));
  return std::unique_ptr<CredentialKeeper>(
      new CredentialKeeper(loop, clock, std::move(settings), std::move(worker)));
}

bool CredentialKeeper::are_good() const {
  return keys_ && (!keys_->expires || clock_.wall() + kRenewBefore < *keys_->expires);
}

Async<Credentials> CredentialKeeper::keys(async::StopToken stop) {
  while (asking_) CO_TRY(co_await asked_.wait(stop));
  if (are_good()) co_return *keys_;
  if (settings_.process.empty()) {
    if (keys_) co_return *keys_;
    co_return no_keys();
  }
  asking_ = true;
  Result<void> renewed = co_await renew();
  asking_ = false;
  asked_.notify_all();
  CO_TRY(std::move(renewed));
  co_return *keys_;
}

// Keys that are still good for a while are used on when the process fails.
Async<void> CredentialKeeper::renew() {
  Result<Credentials> fresh =
      co_await worker_->run([command = settings_.process] { return ask(command); });
  ++renewals_;
  if (fresh.ok()) {
    keys_ = *std::move(fresh);
    co_return {};
  }
  if (keys_ && keys_->expires && clock_.wall() < *keys_->expires) co_return {};
  co_return fresh.error();
}

void CredentialKeeper::refused(const Credentials& keys) {
  const bool can_renew = !settings_.process.empty();
  if (can_renew && keys_ && keys_->key_id == keys.key_id && keys_->token == keys.token) {
    keys_.reset();
  }
}

}  // namespace runnel::object
