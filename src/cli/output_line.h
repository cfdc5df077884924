#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

// Output on its way out, in its order: what one stream gets before the other's turn.
struct OutputRun {
  enum class To : std::uint8_t { kOut, kError };
  To to = To::kOut;
  std::string text;
};
using OutputBatch = std::vector<OutputRun>;

// What print_output() puts, at the end of the batch.
void add_output(OutputBatch& batch, const json::Value& line, Output output, bool many);
void put_batch(const OutputBatch& batch);

// Puts stdout on stdout and stderr on stderr: of one rank exactly as it was written; of many whole
// lines, each behind "train/3: ". With -o json and yaml the documents themselves. Damage is named
// on stderr.
void print_output(const json::Value& line, Output output, bool many);

}  // namespace runnel::cli
