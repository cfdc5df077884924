#include "cli/session.h"

#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "agent/environment.h"
#include "cli/print.h"
#include "env/clock.h"
#include "env/file_lock.h"
#include "env/files.h"
#include "env/process.h"
#include "home/pause.h"

namespace runnel::cli {
namespace {

constexpr Duration kStartMax = Duration::seconds(30);  // A long log is folded before it listens.
constexpr Duration kLookAgain = Duration::millis(1);
constexpr int kAsksMax = 5;
constexpr int kStartsMax = 5;  // A daemon that ends so often at its start has crashed.

constexpr Duration kThawMax = Duration::minutes(2);  // A stopped daemon may be told to go on.
constexpr Duration kKnockMax = Duration::millis(500);

http::ClientOptions silent_for(Duration longest) {
  http::ClientOptions options;
  options.silence_max = longest;
  return options;
}

// The daemon's process stands in its lock.
std::optional<std::int64_t> daemon_of(const home::Home& home) {
  const Result<std::string> text = env::read_file(home.lock());
  std::int64_t pid = 0;
  if (!text.ok()) return std::nullopt;
  std::from_chars(text->data(), text->data() + text->size(), pid);
  return pid > 0 ? std::optional(pid) : std::nullopt;
}

Result<void> refuse_stopped_daemon(const home::Home& home) {
  const std::optional<std::int64_t> pid = daemon_of(home);
  if (!pid || env::process_state(*pid) != env::ProcessState::kStopped) return {};
  const std::string name = std::to_string(*pid);
  return Error(Errc::kTimeout,
               "the home daemon (process " + name + ") was stopped and answers nothing")
      .with_value(home.root)
      .with_hint("let it go on: kill -CONT " + name);
}

}  // namespace

Session::Session(home::Home home, Start start)
    : home_(std::move(home)),
      start_(start),
      knock_(http::Endpoint::unix_socket(home_.socket()), silent_for(kKnockMax)),
      client_(http::Endpoint::unix_socket(home_.socket()), patient_for(kThawMax)) {}

// Whoever waits longer than kQuietMax should know for whom.
http::ClientOptions Session::patient_for(Duration longest) {
  http::ClientOptions options = silent_for(longest);
  options.quiet_max = kQuietMax;
  options.on_quiet = [this] { heard_nothing(); };
  return options;
}

void Session::heard_nothing() {
  const Result<void> runs = refuse_stopped_daemon(home_);
  if (runs.ok() || std::exchange(told_of_stopped_, true)) return;
  const std::string line = "runnel: " + runs.error().to_string();
  tell_ ? tell_(line) : say(line);
}

// A daemon that was killed while its disk was silent stays, as long as the disk is silent, with a
// socket at which nobody answers.
Result<bool> Session::listening() {
  const Duration begun = env::real_clock().boot();
  for (;;) {
    const Result<http::Response> answer = knock_.request(http::Request::get("/healthz"));
    if (answer.ok()) return true;
    if (answer.error().code == Errc::kDenied) return answer.error();
    if (answer.error().code != Errc::kTimeout) return false;
    const Duration silent = env::real_clock().boot() - begun;
    if (silent > kQuietMax) TRY(refuse_stopped_daemon(home_));
    if (silent > kThawMax) return false;
    TRY(home::refuse_silent_disk(home_));
  }
}

Result<std::int64_t> Session::start_daemon() const {
  TRY(home::refuse_silent_disk(home_));
  TRY(home::refuse_unwritable(home_));
  TRY(home::refuse_silent_folders(home_));
  const std::string notice = TRY(home::prepare_home(home_));
  if (!notice.empty()) say("runnel: " + notice);
  TRY(home::refuse_misplaced(home_));
  TRY(env::remove_file(home_.failure()));
  env::DetachedProcess daemon;
  daemon.argv = {TRY(env::executable_path()), "--home", home_.root, "daemon"};
  daemon.environment = agent::daemon_environment(env::environment());
  daemon.log_file = home_.daemon_log();
  return env::spawn_detached(daemon);
}

// One that ended without a word has crashed, unless it made way for another: that one has the lock.
Result<void> Session::look_for_failure(std::int64_t pid) const {
  const bool runs = env::process_runs(pid);
  if (env::exists(home_.failure())) {
    const std::string why = TRY(env::read_file(home_.failure()));
    auto problem = json::parse(why);
    if (problem.ok()) {
      Error failure = http::error_of(http::Response{.status = 500, .headers = {}, .body = why});
      // It says what it could not make, not how much is lacking.
      if (failure.code == Errc::kFull) TRY(home::refuse_full_disk(home_));
      return failure;
    }
  }
  const Result<env::FileLock> lock = env::FileLock::acquire(home_.lock());
  if (runs || (!lock.ok() && lock.error().code == Errc::kConflict)) return {};
  TRY(home::refuse_full_disk(home_));  // It has no room to say so itself, not even in its log.
  return Error(Errc::kUnavailable, "the home daemon ended as soon as it was started")
      .with_value(home_.root)
      .with_hint("see " + home_.daemon_log());
}

Result<void> Session::wait_for_daemon(std::int64_t pid) {
  const Duration begun = env::real_clock().boot();
  while (env::real_clock().boot() - begun < kStartMax) {
    if (TRY(listening())) return {};
    TRY(look_for_failure(pid));
    home::pause(kLookAgain);
  }
  return Error(Errc::kTimeout, "the home daemon did not answer within " + human(kStartMax))
      .with_value(home_.root)
      .with_hint("see " + home_.daemon_log());
}

Result<void> Session::connect() {
  if (TRY(listening())) return {};
  if (start_ == Start::kNever) {
    return Error(Errc::kUnavailable, "no daemon runs for this home").with_value(home_.root);
  }
  // Ours may have made way for another that was killed then: that is no reason to give up.
  for (int starts = 1;; ++starts) {
    Result<void> ready = wait_for_daemon(TRY(start_daemon()));
    const bool gone = !ready.ok() && ready.error().code == Errc::kUnavailable;
    if (!gone || starts == kStartsMax) return ready;
  }
}

Result<http::Response> Session::ask(const http::Request& request, bool repeatable) {
  for (int asks = 1;; ++asks) {
    Result<http::Response> response = client_.request(request);
    if (response.ok()) heard();
    if (response.ok()) return response;
    const Error& error = response.error();
    const bool gone = error.code == Errc::kUnavailable || error.code == Errc::kNotFound;
    if (!gone || !repeatable || asks == kAsksMax || start_ == Start::kNever) return error;
    TRY(connect());
  }
}

Result<json::Value> Session::get(const std::string& target) {
  const http::Response response = TRY(ask(http::Request::get(target), true));
  if (!response.success()) return http::error_of(response);
  return json::parse(response.body);
}

Result<json::Value> Session::post(const std::string& target, const std::string& body,
                                  const std::string& idempotency_key) {
  http::Request request = http::Request::post(target, body);
  if (!idempotency_key.empty()) request.headers.set("Idempotency-Key", idempotency_key);
  // An action on a job that was done already is refused by its state, so that repeating it is safe
  // too.
  const http::Response response = TRY(ask(request, true));
  if (!response.success()) return http::error_of(response);
  if (response.body.empty()) return json::Value();
  return json::parse(response.body);
}

Result<json::Value> Session::remove(const std::string& target) {
  http::Request request = http::Request::get(target);
  request.method = http::Method::kDelete;
  const http::Response response = TRY(ask(request, true));
  if (!response.success()) return http::error_of(response);
  return response.body.empty() ? json::Value() : json::parse(response.body);
}

Result<std::unique_ptr<http::BlockingClient>> Session::stream_client() {
  TRY(connect());
  return std::make_unique<http::BlockingClient>(http::Endpoint::unix_socket(home_.socket()),
                                                patient_for(Duration()));
}

}  // namespace runnel::cli
