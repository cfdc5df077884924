#include "home/jobs_owner.h"

#include "base/shell_word.h"
#include "env/files.h"
#include "env/random.h"
#include "model/fields.h"

namespace runnel::model {

template <>
struct Fields<home::JobsMark> {
  static void visit(auto& visit, auto& mark) {
    visit("home_id", mark.home_id);
    visit("path", mark.path);
  }
};

}  // namespace runnel::model

namespace runnel::home {
namespace {

constexpr std::size_t kIdDigits = 32;

std::optional<std::string> recorded_id(const Home& home) {
  const Result<std::string> text = env::read_file(home.identity());
  if (!text.ok() || text->size() != kIdDigits + 1 || text->back() != '\n') return std::nullopt;
  return text->substr(0, kIdDigits);
}

Result<std::string> keep_id(const Home& home, std::string id) {
  if (recorded_id(home) == id) return id;
  TRY(env::write_file_atomically(home.identity(), id + "\n", env::Access::kOwner));
  return id;
}

Result<std::string> make_id(const Home& home) {
  return keep_id(home, env::random_hex(env::real_random(), kIdDigits));
}

std::optional<JobsMark> recorded_mark(const Home& home) {
  const Result<std::string> text = env::read_file(home.jobs_mark());
  return text.ok() ? parse_mark(*text) : std::nullopt;
}

Result<void> write_mark(const Home& home, const JobsMark& mark) {
  return env::write_file_atomically(home.jobs_mark(), mark_text(mark), env::Access::kOwner);
}

// A lost one is still in the mark of the home's own jobs.
std::optional<std::string> known_id(const Home& home, const std::optional<JobsMark>& mark,
                                    const std::string& before) {
  const std::optional<std::string> id = recorded_id(home);
  const bool is_kept = mark && (mark->path == home.root || mark->path == before);
  return id || !is_kept ? id : std::optional(mark->home_id);
}

// Whether both paths lead to one folder.
bool same_folder(const std::string& one, const std::string& other) {
  const Result<env::FileId> first = env::file_id(one);
  const Result<env::FileId> second = env::file_id(other);
  return first.ok() && second.ok() && *first == *second;
}

bool share_jobs(const Home& home, const Home& other) {
  return env::exists(other.root) && !same_folder(home.root, other.root) &&
         same_folder(home.jobs(), other.jobs());
}

Error of_another(const Home& home, const std::string& other) {
  return Error(Errc::kUnsupported, "the jobs folder " + home.jobs() + " is the one of the home " +
                                       other +
                                       ": each home would take away the files of the other's jobs")
      .with_field("RUNNEL_HOME")
      .with_value(home.root);
}

}  // namespace

JobsOwner owner_of(const std::optional<JobsMark>& mark, const std::string& home_id,
                   bool in_use_there) {
  if (!mark) return JobsOwner::kOurs;
  return mark->home_id == home_id && !in_use_there ? JobsOwner::kOurs : JobsOwner::kAnother;
}

std::string mark_text(const JobsMark& mark) { return model::record_text(mark); }

std::optional<JobsMark> parse_mark(std::string_view text) {
  Result<JobsMark> mark = model::parse_record<JobsMark>(text);
  if (!mark.ok() || mark->home_id.empty() || mark->path.empty()) return std::nullopt;
  return *std::move(mark);
}

Result<void> refuse_jobs_of_another(const Home& home, const std::string& before) {
  const std::optional<JobsMark> mark = recorded_mark(home);
  const std::string id = known_id(home, mark, before).value_or("");
  const bool in_use_there = mark && share_jobs(home, Home{mark->path});
  if (owner_of(mark, id, in_use_there) == JobsOwner::kOurs) return {};
  return of_another(home, mark->path)
      .with_hint("give this home one of its own: mv " + shell_word(home.jobs()) + " " +
                 shell_word(home.jobs() + ".aside") +
                 "; or, if no other home uses it any more: rm " + shell_word(home.jobs_mark()));
}

Result<void> take_jobs(const Home& home, const std::string& before) {
  TRY(refuse_jobs_of_another(home, before));
  const std::optional<JobsMark> mark = recorded_mark(home);
  const std::optional<std::string> known = known_id(home, mark, before);
  const std::string id = TRY(known ? keep_id(home, *known) : make_id(home));
  const JobsMark ours{id, home.root};
  if (mark == ours) return {};
  TRY(env::make_directories(home.jobs(), env::Access::kOwner));
  return write_mark(home, ours);
}

Result<void> adopt_jobs(const Home& home, const Home& original) {
  if (share_jobs(home, original)) {
    return of_another(home, original.root)
        .with_hint("give the copy one of its own: mv " + shell_word(home.jobs()) + " " +
                   shell_word(home.jobs() + ".aside") + " && cp -a " +
                   shell_word(original.jobs() + "/.") + " " + shell_word(home.jobs()));
  }
  const std::string id = TRY(make_id(home));
  TRY(env::make_directories(home.jobs(), env::Access::kOwner));
  return write_mark(home, {id, home.root});
}

}  // namespace runnel::home
