#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/node.h"
#include "model/spec.h"
#include "spec/run_flags.h"

namespace runnel::spec {

// Everything from outside the file that a job file is read with.
struct ParseContext {
  std::string file = "job.yaml";  // As messages call it.
  std::string workdir = "/";      // Absolute: the file's folder, or the caller's for `run -- CMD`.
  // From -e and --env-file, already merged: they win over the file and are taken literally.
  std::map<std::string, std::string> envs;
  // Total capacity. A request that can never fit is refused; empty: no such check.
  std::vector<model::NodeInfo> nodes;
  std::string nodes_file = "nodes.yaml";  // The file that declares them, as messages call it.
  std::string devices_unknown;            // Why nobody knows which devices they have; else empty.
  std::vector<model::SecretRef> secrets;  // From --secret; every step gets them.
  std::optional<std::string> name;        // -n
  std::optional<std::int32_t> priority;   // --priority
  RunFlags flags;                         // --cpus and its kind: they win over the file.
  // Whether to look only: then what another system's file asks of machines that are not among
  // `nodes` is noted and not refused.
  bool look_only = false;
};

// Either a job or the reasons why there is none.
struct JobFileReport {
  std::optional<model::JobSpec> spec;
  std::vector<Error> errors;  // Sorted by place; empty exactly when there is a spec.
  // What another system's file says and the job cannot carry, and what happens instead.
  std::vector<Error> notes;
};

// Reads a job file, or a Hyper recipe as one: YAML 1.2, strictly. Nothing is ignored: an unknown
// field, a field of a later version, a value out of its limits are errors with file:line:column,
// field, value and remedy. kUnsupported for what is known and not built yet, kInvalid otherwise.
// Never throws, reads no file.
JobFileReport parse_job_file_all(std::string_view text, const ParseContext& context);
// The same with the first error alone.
Result<model::JobSpec> parse_job_file(std::string_view text, const ParseContext& context);

// Another system's file as a job file of ours.
struct ImportReport {
  std::string text;           // Empty when there are errors.
  std::vector<Error> errors;  // As of JobFileReport.
  std::vector<Error> notes;
};
// kInvalid for a file that is ours already, kUnsupported for one that cannot be read yet.
ImportReport import_file(std::string_view text, const ParseContext& context);

}  // namespace runnel::spec
