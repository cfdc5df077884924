#pragma once

#include <functional>
#include <string>

namespace runnel::home {

// Tells whoever looks after a home, in a sentence, what it met.
using Say = std::function<void(const std::string&)>;

}  // namespace runnel::home
