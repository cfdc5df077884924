#include "cli/store_variables.h"

#include <functional>

#include "env/process.h"

namespace runnel::cli {

bool is_of_store(const std::string& variable) { return variable.starts_with(kStoreVariables); }

std::vector<std::string> store_environment() {
  std::vector<std::string> all = env::environment();
  std::erase_if(all, std::not_fn(is_of_store));
  return all;
}

}  // namespace runnel::cli
