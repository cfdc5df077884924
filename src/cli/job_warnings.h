#pragma once

#include <string>
#include <vector>

#include "model/node.h"
#include "model/spec.h"

namespace runnel::cli {

// Names of `envs` that take the place of a value of Runnel's, a line each. The user's value counts;
// nobody should have to guess why a gang does not meet.
std::vector<std::string> replaced_variable_warnings(const model::JobSpec& spec);

// Parameters that a script takes for variables, a line each: it would run, each time with nothing.
std::vector<std::string> shell_parameter_warnings(const model::JobSpec& spec);

// Variables of the shell (`environment`, NAME=value) that programs look for and the job's tasks do
// not get: a login prompt, or a run without a GPU, would tell too late. `nodes_file` declares the
// devices.
std::vector<std::string> left_behind_warnings(const model::JobSpec& spec,
                                              const std::vector<std::string>& environment,
                                              const std::string& nodes_file);

// A line when the nodes have devices and no step of the job asks for any: its tasks see none, and a
// training would run on the processor without a word.
std::vector<std::string> unused_device_warnings(const model::JobSpec& spec,
                                                const std::vector<model::NodeInfo>& nodes);

}  // namespace runnel::cli
