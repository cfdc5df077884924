#include "cli/shell_environment.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "json/writer.h"
#include "model/spec.h"

namespace runnel::cli {
namespace {

constexpr std::array<std::string_view, 20> kTaken = {"CONDA_DEFAULT_ENV",
                                                     "CONDA_PREFIX",
                                                     "CUDA_HOME",
                                                     "HF_HOME",
                                                     "HOME",
                                                     "JAVA_HOME",
                                                     "LANG",
                                                     "LD_LIBRARY_PATH",
                                                     "LOGNAME",
                                                     "PATH",
                                                     "PYTHONHOME",
                                                     "PYTHONPATH",
                                                     "SHELL",
                                                     "TMPDIR",
                                                     "TORCH_HOME",
                                                     "TZ",
                                                     "USER",
                                                     "VIRTUAL_ENV",
                                                     "XDG_CACHE_HOME",
                                                     "XDG_DATA_HOME"};
static_assert(std::is_sorted(kTaken.begin(), kTaken.end()));

bool is_taken(std::string_view name) {
  return name.starts_with("LC_") || std::binary_search(kTaken.begin(), kTaken.end(), name);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> shell_environment(
    const std::vector<std::string>& environment) {
  std::vector<std::pair<std::string, std::string>> taken;
  for (const std::string& variable : environment) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || !is_taken(variable.substr(0, equals))) continue;
    // What the log could not give back as it is, is left out.
    if (variable.size() > model::kScriptBytesMax || !json::is_utf8(variable)) continue;
    taken.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
  }
  std::sort(taken.begin(), taken.end());
  // An environment may hold a name twice; getenv() takes one of them.
  const auto same = [](const auto& a, const auto& b) { return a.first == b.first; };
  taken.erase(std::unique(taken.begin(), taken.end(), same), taken.end());
  return taken;
}

}  // namespace runnel::cli
