#include "home/server_of_volumes.h"

#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "agent/environment.h"
#include "env/file_system.h"

namespace runnel::home {
namespace {

// By which the store is reached, whoever's keys are used: proxies, and the authorities of TLS.
constexpr std::array<std::string_view, 9> kOfTheNetwork = {
    "ALL_PROXY", "HTTPS_PROXY", "NO_PROXY",    "SSL_CERT_DIR", "SSL_CERT_FILE",
    "all_proxy", "http_proxy",  "https_proxy", "no_proxy"};

}  // namespace

bool may_have_server(const Home& home) {
  const Result<env::FileSystem> found = env::file_system_of(home.root);
  return found.ok() && found->locality == env::Locality::kLocal;
}

env::DetachedProcess server_of_volumes(const Home& home, std::string executable) {
  env::DetachedProcess server;
  server.argv = {std::move(executable), "--home", home.root, "volume", "serve"};
  server.environment = agent::detached_environment(env::environment());
  for (const std::string_view name : kOfTheNetwork) {
    const std::optional<std::string> value = env::variable(std::string(name));
    if (value) server.environment.push_back(std::string(name) + "=" + *value);
  }
  server.log_file = home.mounts_log();
  return server;
}

}  // namespace runnel::home
