#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace runnel::env {

// A program that answers on its standard output and ends.
struct Subprocess {
  std::vector<std::string> argv;  // argv[0] is looked for along PATH.
  Duration runs_at_most = Duration::seconds(5);
  std::size_t bytes_max = std::size_t{1} << 20;  // Output that it may write, at least.
  std::vector<std::string> environment;          // "NAME=value"; empty: this process's.
};

// How a program ended by itself.
struct Finished {
  std::string text;  // What it wrote to its standard output.
  int code = 0;      // Its exit code, or, negative, the signal that ended it.
};

// Runs it with no input until it ends: kNotFound when there is no such program, kTimeout when it
// did not end in time, kFull when it wrote too much. What has not ended is killed with what it
// started. Blocks. Threads: any; no other may wait for all children of this process.
Result<Finished> finish(const Subprocess& process);

// The same of one that has to end well: what it wrote, and kIo when it did not end with 0.
Result<std::string> output_of(const Subprocess& process);

}  // namespace runnel::env
