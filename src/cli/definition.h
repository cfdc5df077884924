#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "cli/arguments.h"

namespace runnel::cli {

// A command: its names, its line in the help, and what adds its options.
using Adder = std::function<void(CLI::App&, Arguments&)>;

struct Definition {
  Command command;
  const char* name;
  std::vector<std::string> aliases;
  const char* help;
  Adder add;
};

template <typename T>
void optional_flag(CLI::App& app, const char* name, std::optional<T>& value, const char* help) {
  app.add_option_function<T>(name, [&value](const T& given) { value = given; }, help);
}

// The verbs of `runnel volume`.
const std::vector<Definition>& volume_definitions();

}  // namespace runnel::cli
