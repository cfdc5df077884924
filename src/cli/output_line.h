#pragma once

#include <string>

#include "cli/arguments.h"
#include "json/value.h"

namespace runnel::cli {

// A line of a task's output, as the API tells it, on its way to the person.

// Whether several ranks write, so that each line must say whose it is.
bool has_many_ranks(const json::Value& job);

// Exactly the bytes that were written.
std::string exact_bytes(const json::Value& line);

// Why lines that were written are missing, where the API tells that instead of a line; else empty.
std::string damage_of(const json::Value& line);

// Puts stdout on stdout and stderr on stderr: of one rank exactly as it was written; of many whole
// lines, each behind "train/3: ". With -o json and yaml the documents themselves. Damage is named
// on stderr.
void print_output(const json::Value& line, Output output, bool many);

}  // namespace runnel::cli
