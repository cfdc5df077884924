#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace runnel::object {

// The errors that every store tells in the same words.
Error no_object(const std::string& store, const std::string& key);
Error exists_already(const std::string& store, const std::string& key);
Error was_replaced(const std::string& store, const std::string& key);
Error is_shorter(const std::string& store, const std::string& key, std::int64_t wanted);
Error is_larger(const std::string& store, const std::string& key, std::int64_t limit);

}  // namespace runnel::object
