#include "cli/attach.h"

#include <cstdio>
#include <string>

#include "cli/interrupt.h"
#include "cli/job_state.h"
#include "cli/log_stream.h"
#include "cli/pause.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/target.h"
#include "env/clock.h"

namespace runnel::cli {
namespace {

constexpr Duration kDrawEvery = Duration::millis(200);
constexpr int kInterrupted = 130;

class Attachment {
 public:
  Attachment(Session& session, std::string job)
      : session_(session),
        job_(std::move(job)),
        stream_(session, job_target(job_, "/logs?follow=1"), "cursor", "cursor"),
        progress_(stderr_is_terminal()) {}

  Result<int> run() {
    const Duration begun = env::real_clock().boot();
    while (!stream_.ended()) {
      if (interrupts() > 0) return interrupted();
      auto line = stream_.next(kDrawEvery);
      if (interrupts() > 0) return interrupted();
      if (!line.ok()) return line.error();
      if (line->has_value()) {
        print(**line);
      } else if (stderr_is_terminal() && !stream_.ended()) {
        progress_.draw(TRY(document()), env::real_clock().boot() - begun);
      }
    }
    progress_.clear();
    return exit_code(TRY(document()));
  }

 private:
  Result<json::Value> document() { return session_.get(job_target(job_)); }

  void print(const json::Value& line) {
    progress_.clear();
    const std::string text = text_of(line, "msg") + "\n";
    if (text_of(line, "stream") == "stderr") {
      say(text_of(line, "msg"));
    } else {
      put(text);
    }
  }

  static int exit_code(const json::Value& document) {
    const std::string message = text_of(document, "message");
    if (!message.empty()) say("runnel: " + text_of(document, "status") + ": " + message);
    return static_cast<int>(number_of(document, "exit_code", 1));
  }

  // The job is halted with its grace and can be resumed; a second Ctrl-C cancels it.
  Result<int> interrupted() {
    progress_.clear();
    say("runnel: halting " + job_ + "; press Ctrl-C again to cancel it");
    auto halted = session_.post(job_target(job_, ":halt"));
    if (!halted.ok() && halted.error().code != Errc::kConflict) return halted.error();
    bool cancelled = false;
    for (;;) {
      const json::Value job = TRY(document());
      if (has_ended(job)) break;
      if (has_settled(job)) {
        say("runnel: halted; go on with: runnel resume " + job_);
        break;
      }
      if (interrupts() > 1 && !cancelled) {
        cancelled = true;
        say("runnel: cancelling " + job_);
        auto answer = session_.post(job_target(job_, ":cancel"));
        if (!answer.ok() && answer.error().code != Errc::kConflict) return answer.error();
      }
      pause(Duration::millis(50));
    }
    return kInterrupted;
  }

  Session& session_;
  std::string job_;
  LineStream stream_;
  Progress progress_;
};

}  // namespace

Result<int> attach(Session& session, const std::string& job) {
  watch_interrupts();
  return Attachment(session, job).run();
}

}  // namespace runnel::cli
