#pragma once

#include <string>

namespace runnel::cli {

// A field of a CSV line (RFC 4180): in quotes where it needs them.
std::string csv_field(const std::string& text);

}  // namespace runnel::cli
