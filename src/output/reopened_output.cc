#include "output/reopened_output.h"

#include <algorithm>
#include <string_view>

namespace runnel::output {
namespace {

constexpr std::string_view kNames[] = {"/dev/stdout", "/dev/stderr", "/dev/fd/", "/proc/self/fd"};

bool names_output(std::string_view text) {
  return std::any_of(std::begin(kNames), std::end(kNames), [text](std::string_view name) {
    return text.find(name) != std::string_view::npos;
  });
}

}  // namespace

bool names_own_output(const std::vector<std::string>& argv) {
  return std::any_of(argv.begin(), argv.end(),
                     [](const std::string& argument) { return names_output(argument); });
}

}  // namespace runnel::output
