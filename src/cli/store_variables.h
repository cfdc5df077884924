#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace runnel::cli {

inline constexpr std::string_view kStoreVariables = "AWS_";
bool is_of_store(const std::string& variable);

// The variables of this shell by which a store is reached, as "NAME=value".
std::vector<std::string> store_environment();

}  // namespace runnel::cli
