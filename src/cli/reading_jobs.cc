#include "cli/reading_jobs.h"

#include "cli/pages.h"
#include "cli/print.h"
#include "cli/session.h"
#include "cli/target.h"
#include "env/files.h"
#include "volume/manifest.h"

namespace runnel::cli {
namespace {

// One folder may have several names.
std::string real_place(const std::string& store) {
  const Result<object::StoreUrl> url = object::parse_store_url(store);
  if (!url.ok() || url->scheme != object::StoreUrl::Scheme::kFile) return store;
  return env::real_path(url->path).value_or(url->path);
}

void add_readers(const json::Value& job, const std::string& volume, const std::string& place,
                 std::vector<volume::SessionRecord>& readers) {
  const json::Value* const spec = job.find("spec");
  if (spec == nullptr) return;
  for (const json::Value& step : list_at(*spec, "steps")) {
    for (const json::Value& use : list_at(step, "volumes")) {
      if (text_of(use, "volume") != volume || real_place(text_of(use, "store")) != place) continue;
      if (text_of(use, "mode") == "rw") continue;  // Its branches hold what they come of.
      volume::SessionRecord reader;
      reader.kind = "job";
      reader.source = text_of(job, "id");
      reader.pin = volume::manifest_key(text_of(use, "version"), "");
      if (readers.empty() || readers.back() != reader) readers.push_back(std::move(reader));
    }
  }
}

}  // namespace

Result<std::vector<volume::SessionRecord>> reading_jobs(const home::Home& home,
                                                        const std::string& volume,
                                                        const object::StoreUrl& place) {
  std::vector<volume::SessionRecord> readers;
  // Where jobs were and the log is gone, the daemon says so.
  if (!env::exists(home.event_log()) && !env::exists(home.jobs())) return readers;
  Session session(home, Start::kIfAbsent);
  TRY(session.connect());
  const json::Value jobs =
      TRY(read_pages(session, "/api/v1/jobs?filter=unfinished", "jobs", kAllRows));
  const std::string real = real_place(place.to_string());
  for (const json::Value& each : list_at(jobs, "jobs")) {
    const auto job = session.get(job_target(text_of(each, "id"), "?include=spec"));
    if (!job.ok() && job.error().code == Errc::kNotFound) continue;  // Deleted by now.
    add_readers(TRY(Result<json::Value>(job)), volume, real, readers);
  }
  return readers;
}

}  // namespace runnel::cli
