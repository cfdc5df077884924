#include "control/secrets.h"

#include <utility>

#include "base/check.h"
#include "control/job_id.h"
#include "env/files.h"
#include "json/writer.h"

namespace runnel::control {

std::string FileSecrets::path_of(const JobId& job) const {
  CHECK(is_job_id_prefix(job.str()), "a secret's file is named by a job id");
  return folder_ + "/" + job.str();
}

Result<void> FileSecrets::put(const JobId& job, const SecretValues& values) {
  CHECK(!folder_.empty(), "secrets need a folder");
  CHECK(values.size() <= kSecretsMax, "more secrets than a body may bring");
  TRY(env::make_directories(folder_, env::Access::kOwner));
  std::string text;
  json::Writer out(text);
  out.begin_object();
  for (const auto& [source, value] : values) out.field(source, value);
  out.end_object();
  return env::write_file_atomically(path_of(job), text, env::Access::kOwner);
}

Result<void> FileSecrets::wipe(const JobId& job) { return env::remove_file(path_of(job)); }

// Temporary files of a put() that a crash cut short are not ids; they are removed here.
Result<std::vector<JobId>> FileSecrets::jobs() {
  std::vector<JobId> ids;
  if (!env::exists(folder_)) return ids;
  for (std::string& name : TRY(env::list_directory(folder_))) {
    if (name.size() == kJobIdDigits && is_job_id_prefix(name)) {
      ids.emplace_back(std::move(name));
    } else {
      TRY(env::remove_file(folder_ + "/" + name));
    }
  }
  return ids;
}

}  // namespace runnel::control
