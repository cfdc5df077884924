#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/shell_secrets.h"
#include "home/home.h"
#include "model/node.h"
#include "model/spec.h"
#include "spec/job_file.h"

namespace runnel::cli {

// What a command line asks to run, checked: nothing has started yet.
struct JobSource {
  model::JobSpec spec;
  ShellSecrets secrets;
};

// Reads the job file, or makes a job of the flags, with -e, --env-file and --secret applied.
// All errors of a file, not the first alone.
struct JobSourceReport {
  std::vector<Error> errors;  // Empty exactly when `source` is there.
  std::optional<JobSource> source;
};
// Whether to start it: `validate` and `plan` only look, and a recipe for other machines passes.
enum class Purpose : std::uint8_t { kStart, kLook };
JobSourceReport read_job_source(const Arguments& arguments, const home::Home& home,
                                Purpose purpose);

// Another system's file as a job file of ours, with what could not be carried.
Result<spec::ImportReport> read_foreign_file(const Arguments& arguments, const home::Home& home);

// A line of warning for each note, with its place.
void tell_notes(const std::vector<Error>& notes);

}  // namespace runnel::cli
