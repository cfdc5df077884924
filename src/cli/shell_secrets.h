#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "json/writer.h"
#include "model/spec.h"

namespace runnel::cli {

// Values by source, "env:NAME".
using ShellSecrets = std::map<std::string, std::string>;

// What the job's secrets refer to in this shell, and, for a job that reads a bucket, the keys and
// settings by which this shell reaches it; `file:` ones are read where the task starts. Of a
// variable that is not set the error says to set it and to do `again`, as "submit".
Result<ShellSecrets> shell_secrets(const model::JobSpec& spec, const std::string& again);

// The member "secrets" of a request's body; none without values.
void write_secrets(json::Writer& out, const ShellSecrets& secrets);

}  // namespace runnel::cli
