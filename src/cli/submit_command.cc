#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "cli/attach.h"
#include "cli/commands.h"
#include "cli/job_source.h"
#include "cli/print.h"
#include "cli/session.h"
#include "cli/target.h"
#include "env/random.h"
#include "json/writer.h"
#include "model/codec.h"

namespace runnel::cli {
namespace {

std::string submission_body(const JobSource& source) {
  std::string body;
  json::Writer out(body);
  out.begin_object();
  write_secrets(out, source.secrets);
  model::encode(out.key("spec"), source.spec);
  out.end_object();
  return body;
}

// One per submission: whoever dies in between, asking again starts nothing twice.
std::string new_key() {
  env::Random& random = env::real_random();
  return "cli-" + std::to_string(random.next()) + std::to_string(random.next());
}

Result<json::Value> submit(Session& session, const JobSource& source) {
  TRY(session.connect());
  return session.post("/api/v1/jobs", submission_body(source), new_key());
}

// Of a study whose trials are run elsewhere nothing runs here that could be followed.
bool runs_here(const model::JobSpec& spec) {
  return std::any_of(spec.steps.begin(), spec.steps.end(),
                     [](const model::StepSpec& step) { return !step.is_external(); });
}

void print_submitted(const Arguments& arguments, const model::JobSpec& spec,
                     const json::Value& job) {
  const std::string id = text_of(job, "id");
  if (is_document(arguments.output)) {
    put(document(job, arguments.output));
    return;
  }
  put(id + "\n");
  if (arguments.output == Output::kName) return;
  const std::string follow =
      runs_here(spec) ? "logs:    runnel logs -f " : "trials:  runnel study ask ";
  say(follow + id + "\nstatus:  runnel show " + id + "\ncancel:  runnel cancel " + id);
}

// A task may run later, again or elsewhere, so it reads nothing; who sends something should know.
void tell_of_unread_input() {
  int waiting = 0;
  if (::isatty(STDIN_FILENO) == 1 || ::ioctl(STDIN_FILENO, FIONREAD, &waiting) != 0) return;
  if (waiting > 0) say("runnel: standard input is not passed to tasks; let them read a file");
}

}  // namespace

int up(const Arguments& arguments, const home::Home& home) {
  if (arguments.dry_run) return plan(arguments, home);
  JobSourceReport read = read_job_source(arguments, home, Purpose::kStart);
  say_all(read.notes);
  if (!read.source.has_value()) return fail(read.errors);
  Session session(home, Start::kIfAbsent);
  const Result<json::Value> job = submit(session, *read.source);
  if (!job.ok()) return fail(job.error());
  print_submitted(arguments, read.source->spec, *job);
  return 0;
}

int run_job(const Arguments& arguments, const home::Home& home) {
  if (arguments.dry_run) return plan(arguments, home);
  if (arguments.detach) return up(arguments, home);
  tell_of_unread_input();
  JobSourceReport read = read_job_source(arguments, home, Purpose::kStart);
  say_all(read.notes);
  if (!read.source.has_value()) return fail(read.errors);
  Session session(home, Start::kIfAbsent);
  const Result<json::Value> job = submit(session, *read.source);
  if (!job.ok()) return fail(job.error());
  const std::string id = text_of(*job, "id");
  Chaos chaos(read.source->spec, id, env::real_random());
  Attached how;
  how.output = arguments.output;
  how.end = arguments.flags.command.empty() ? EndStyle::kWhole : EndStyle::kShort;
  how.quiet = arguments.quiet;
  how.chaos = arguments.chaos ? &chaos : nullptr;
  const Result<int> code = attach(session, *job, how);
  if (!code.ok()) return fail(code.error());
  if (is_document(arguments.output)) {
    const Result<json::Value> end = session.get(job_target(id));
    if (end.ok()) put(stream_item(*end, arguments.output));
  }
  return *code;
}

}  // namespace runnel::cli
