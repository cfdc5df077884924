#pragma once

#include <string>
#include <utility>
#include <vector>

namespace runnel::cli {

// What a person reads of one thing: a word and what it is, a line each, "-" for what is empty.
using Facts = std::vector<std::pair<std::string, std::string>>;
std::string facts_text(const Facts& facts);

}  // namespace runnel::cli
