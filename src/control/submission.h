#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "control/secrets.h"
#include "model/spec.h"

namespace runnel::control {

// A job as somebody asks for it.
struct Submission {
  std::shared_ptr<const model::JobSpec> spec;
  SecretValues secrets;
  std::string owner;
  // Tells a repeat of a request from another one. Made without the values of secrets: a digest in
  // the log would let a guess of them be checked.
  std::string fingerprint;
};

// Reads {"spec": {...}, "secrets": {"env:NAME": value}} and checks that exactly the values which
// the specification refers to are there. A specification is refused for what a file is, and every
// fault is told: see Error::others. A volume is named by its store and the whole id of its version.
// An `owner`, which earlier clients tell, means nothing.
Result<Submission> read_submission(std::string_view json_body, const std::string& owner);

// Reads a job file. Its folder is where relative paths begin and the default of its workdir; `file`
// names it in errors. Such a body has no place for the values of secrets.
Result<Submission> read_job_file(std::string_view yaml_body, const std::string& workdir,
                                 const std::string& file, const std::string& owner);

// What a request about a job may say.
struct CallBody {
  SecretValues secrets;
};
// {"secrets"?: {"env:NAME": value}}, or nothing at all. An `actor`, which earlier clients tell,
// means nothing: see principal_of().
Result<CallBody> read_call(std::string_view json_body);

// Whether any step refers to a value of the submitting shell; a file is read where the task starts.
bool needs_values(const model::JobSpec& spec);
// That exactly the values which the specification refers to are there; besides, those by which a
// bucket is reached may be, when a step reads one.
Result<void> check_secrets(const model::JobSpec& spec, const SecretValues& values);

}  // namespace runnel::control
