#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/arguments.h"
#include "cli/shell_secrets.h"
#include "home/home.h"
#include "model/spec.h"
#include "spec/job_file.h"

namespace runnel::cli {

// What a command line asks to run, checked: nothing has started yet.
struct JobSource {
  model::JobSpec spec;
  ShellSecrets secrets;
};

// Either a job or all the reasons why there is none, and what the user should know either way.
struct JobSourceReport {
  std::vector<Error> errors;       // Empty exactly when `source` is there.
  std::vector<std::string> notes;  // Lines to say before the errors or the job's start.
  std::optional<JobSource> source;
};
// Whether to start it: `validate` and `plan` only look, and a recipe for other machines passes.
enum class Purpose : std::uint8_t { kStart, kLook };
// Reads the job file, or makes a job of the flags, with -e, --env-file, --secret and --from
// applied.
JobSourceReport read_job_source(const Arguments& arguments, const home::Home& home,
                                Purpose purpose);

// Another system's file as a job file of ours, with what could not be carried.
Result<spec::ImportReport> read_foreign_file(const Arguments& arguments, const home::Home& home);

}  // namespace runnel::cli
