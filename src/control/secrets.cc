#include "control/secrets.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "control/job_id.h"
#include "env/files.h"
#include "json/value.h"
#include "json/writer.h"

namespace runnel::control {
namespace {

constexpr const char* kMark = ".asked";

bool lists(const std::vector<std::string>& names, const std::string& id) {
  return std::find(names.begin(), names.end(), id) != names.end();
}

}  // namespace

std::string FileSecrets::path_of(const JobId& job) const {
  CHECK(is_job_id_prefix(job.str()), "a secret's file is named by a job id");
  return folder_ + "/" + job.str();
}

std::string FileSecrets::mark_of(const JobId& job) const { return path_of(job) + kMark; }

Result<void> FileSecrets::put(const JobId& job, const SecretValues& values, Taken taken) {
  CHECK(!folder_.empty(), "secrets need a folder");
  CHECK(values.size() <= kSecretsMax, "more secrets than a body may bring");
  TRY(env::make_directories(folder_, env::Access::kOwner));
  if (taken == Taken::kNotYet) {
    TRY(env::write_file_atomically(mark_of(job), "", env::Access::kOwner));
  }
  std::string text;
  json::Writer out(text);
  out.begin_object();
  for (const auto& [source, value] : values) out.field(source, value);
  out.end_object();
  return env::write_file_atomically(path_of(job), text, env::Access::kOwner);
}

Result<void> FileSecrets::settle(const JobId& job) { return env::remove_file(mark_of(job)); }

// The mark last: values without one are kept for ever.
Result<void> FileSecrets::wipe(const JobId& job) {
  TRY(env::remove_file(path_of(job)));
  return settle(job);
}

Result<SecretValues> FileSecrets::values(const JobId& job) const {
  const Result<std::string> text = env::read_file(path_of(job));
  if (!text.ok() && text.error().code == Errc::kNotFound) return SecretValues();
  const Result<json::Value> kept = json::parse(TRY(Result<std::string>(text)));
  SecretValues values;
  bool is_whole = kept.ok() && kept->is_object();
  if (is_whole) {
    for (const auto& [source, value] : kept->as_object()) {
      is_whole = is_whole && value.is_text();
      if (value.is_text()) values.emplace(source, value.as_text());
    }
  }
  if (is_whole) return values;
  return Error(Errc::kCorrupt, path_of(job) + " is damaged").with_hint("submit the job again");
}

bool FileSecrets::is_unsettled(const JobId& job) { return env::exists(mark_of(job)); }

// Removes here what a put() or wipe() that a crash cut short left: temporary files, and a mark
// without values. What cannot be removed is no reason not to open the home: the next time tries
// again. Whatever else is there is the user's and is passed over.
Result<std::vector<JobId>> FileSecrets::jobs() {
  std::vector<JobId> ids;
  const Result<env::FileInfo> folder = env::file_info(folder_);
  if (!folder.ok()) return ids;
  const std::vector<std::string> names = TRY(env::list_directory(folder_));
  for (const std::string& name : names) {
    const std::string path = folder_ + "/" + name;
    const Result<env::FileInfo> file = env::file_info(path);
    if (!file.ok() || file->kind != env::FileKind::kFile) continue;
    const std::string id = name.substr(0, kJobIdDigits);
    if (time_of(JobId(id)) == Time()) continue;
    if (name == id) ids.emplace_back(id);
    const bool in_a_folder = folder->kind == env::FileKind::kDirectory;  // And not through a link.
    const bool temporary = env::is_temporary_of(id, name) || env::is_temporary_of(id + kMark, name);
    const bool bare_mark = name == id + kMark && !lists(names, id);
    if (in_a_folder && (temporary || bare_mark)) (void)env::remove_file(path);
  }
  return ids;
}

}  // namespace runnel::control
