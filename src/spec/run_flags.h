#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/spec.h"
#include "spec/yaml.h"

namespace runnel::spec {

struct ParseContext;

// The flags of `runnel run [flags] FILE` and `runnel run [flags] -- COMMAND ARGUMENT...`, as typed.
// Absent: not given.
struct RunFlags {
  std::vector<std::string> command;           // Taken literally: braces mean nothing here.
  std::optional<std::string> cpus;            // --cpus 4
  std::optional<std::string> memory;          // --memory 8GB
  std::optional<std::string> gpus;            // --gpus H100:8
  bool spot = false;                          // --spot
  std::optional<std::string> num_nodes;       // --num-nodes 2
  std::optional<std::string> procs_per_node;  // --procs-per-node 2
  std::optional<std::string> max_duration;    // --max-duration 2h
  std::optional<std::string> grace;           // --grace 30s
  std::optional<std::string> max_log;         // --max-log 1GiB
  std::optional<std::string> retries;         // --retries 3
};

// A job of one step from flags, through the checks of a file; errors name the flag. Name, priority,
// variables and secrets come with the context, whose `file` is not used; the job is called after
// its program when it has no name.
Result<model::JobSpec> job_from_flags(const RunFlags& flags, const ParseContext& context);

// A job file's document with the flags in place of what it says, in the job and in each step. The
// command of the flags is not used.
YamlNodePtr with_flags(YamlNodePtr document, const RunFlags& flags);

}  // namespace runnel::spec
