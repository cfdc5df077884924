#include "home/prices.h"

#include "env/files.h"
#include "env/process.h"
#include "home/named_file.h"
#include "spec/prices_file.h"

namespace runnel::home {
namespace {

constexpr Bytes kPricesFileMax = Bytes::mebi(4);

}  // namespace

std::string prices_path() {
  const std::string folder = env::variable("XDG_CONFIG_HOME").value_or("");
  const std::string config =
      folder.starts_with('/') ? folder : env::variable("HOME").value_or("") + "/.config";
  return config + "/runnel/prices.yaml";
}

Result<std::string> prices_text() {
  if (!env::exists(prices_path())) return std::string(spec::shipped_prices());
  return read_named_file("prices", prices_path(), kPricesFileMax);
}

Result<std::vector<model::InstanceType>> instance_types() {
  return spec::parse_prices_file(TRY(prices_text()), prices_path());
}

}  // namespace runnel::home
