#pragma once

#include <optional>
#include <string_view>

#include "spec/diagnostics.h"

namespace runnel::spec {

// A file of another system, told by what only that system writes.
struct ForeignFile {
  std::string_view what;    // "a Hyper recipe"
  std::string_view marker;  // "`experiments`"
  const YamlNode* at;       // The key that gave it away.
};

std::optional<ForeignFile> recognise_foreign(const YamlNode& root);

// The byte of the first `#SBATCH` line of a batch script; nothing when the text is none.
std::optional<std::size_t> sbatch_line(std::string_view text);

Error foreign_error(std::string_view what, std::string_view marker);

}  // namespace runnel::spec
