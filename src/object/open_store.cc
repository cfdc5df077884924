#include "object/open_store.h"

#include <utility>

#include "async/worker.h"
#include "base/check.h"
#include "env/files.h"
#include "env/process.h"

namespace runnel::object {
namespace {

Result<std::string> text_of(const std::string& path) {
  Result<std::string> text = env::read_file(path, Bytes::mebi(1));
  if (!text.ok() && text.error().code == Errc::kNotFound) return std::string();
  return text;
}

Result<AwsSettings> settings_now(const VariableOf& variable) {
  return aws_settings(variable, TRY(text_of(aws_config_path(variable))),
                      TRY(text_of(aws_credentials_path(variable))));
}

// They may lie in a home that a network does not answer for.
Async<AwsSettings> settings_beside(async::EventLoop& loop, VariableOf variable) {
  const auto worker = CO_TRY(async::Worker::create(loop, {.name = "aws-settings"}));
  Result<AwsSettings> settings =
      co_await worker->run([&variable] { return settings_now(variable); });
  MUST(co_await worker->stop());
  co_return settings;
}

}  // namespace

// An empty variable is as good as none.
std::optional<std::string> OpenedStore::own_variable(const std::string& name) {
  std::optional<std::string> value = env::variable(name);
  if (value && value->empty()) return std::nullopt;
  return value;
}

Result<std::unique_ptr<OpenedStore>> OpenedStore::open(async::EventLoop& loop, env::Clock& clock,
                                                       env::Random& random, const StoreUrl& url,
                                                       KeyRule rule, const VariableOf& variable) {
  const bool is_bucket = url.scheme == StoreUrl::Scheme::kS3;
  CHECK(is_bucket || rule == KeyRule::kEveryStore, "a folder takes the keys of every store");
  auto opened = std::unique_ptr<OpenedStore>(new OpenedStore());
  switch (url.scheme) {
    case StoreUrl::Scheme::kFile:
      opened->take_folder(TRY(LocalStore::open(loop, url.path)), clock);
      break;
    case StoreUrl::Scheme::kS3: {
      const Result<void> begun =
          opened->open_bucket(loop, clock, random, url, rule, TRY(settings_now(variable)));
      if (!begun.ok()) MUST(loop.block_on(opened->stop()));
      TRY(Result<void>(begun));
      break;
    }
  }
  return opened;
}

Async<std::unique_ptr<OpenedStore>> OpenedStore::open_beside(async::EventLoop& loop,
                                                             env::Clock& clock, env::Random& random,
                                                             StoreUrl url, KeyRule rule,
                                                             VariableOf variable) {
  auto opened = std::unique_ptr<OpenedStore>(new OpenedStore());
  if (url.scheme == StoreUrl::Scheme::kS3) {
    const AwsSettings settings = CO_TRY(co_await settings_beside(loop, variable));
    const Result<void> begun = opened->open_bucket(loop, clock, random, url, rule, settings);
    if (!begun.ok()) MUST(co_await opened->stop());
    CO_TRY(Result<void>(begun));
    co_return opened;
  }
  opened->take_folder(CO_TRY(co_await LocalStore::open_beside(loop, url.path)), clock);
  co_return opened;
}

void OpenedStore::take_folder(std::unique_ptr<LocalStore> folder, env::Clock& clock) {
  folder_ = std::move(folder);
  metered_.emplace(*folder_, clock);
}

// Each try is a request that costs money, so it is counted below the retries.
Result<void> OpenedStore::open_bucket(async::EventLoop& loop, env::Clock& clock,
                                      env::Random& random, const StoreUrl& url, KeyRule rule,
                                      const AwsSettings& settings) {
  http::OutwardLimits limits;
  limits.ca_bundle = settings.ca_bundle;
  client_ = TRY(http::OutwardClient::create(loop, std::move(limits)));
  keys_ = TRY(CredentialKeeper::create(loop, clock, settings));
  bucket_.emplace(*client_, *keys_, url, settings, rule);
  metered_.emplace(*bucket_, clock);
  retried_.emplace(loop, clock, random, *metered_);
  return {};
}

ObjectStore& OpenedStore::store() {
  if (retried_) return *retried_;
  return *metered_;
}

Async<bool> OpenedStore::give_up_reserve() {
  if (folder_) CO_TRY(co_await folder_->give_up_reserve());
  co_return folder_ != nullptr;
}

Async<void> OpenedStore::stop() {
  if (folder_) CO_TRY(co_await folder_->stop());
  if (client_) CO_TRY(co_await client_->stop());
  if (keys_) CO_TRY(co_await keys_->stop());
  co_return {};
}

}  // namespace runnel::object
