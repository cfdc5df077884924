#include "cli/attach.h"

#include <string>

#include "base/check.h"
#include "cli/interrupt.h"
#include "cli/job_state.h"
#include "cli/log_stream.h"
#include "cli/lost_work.h"
#include "cli/output_line.h"
#include "cli/print.h"
#include "cli/progress.h"
#include "cli/target.h"
#include "cli/waits.h"
#include "cli/warnings.h"
#include "env/clock.h"

namespace runnel::cli {
namespace {

constexpr Duration kDrawEvery = Duration::millis(200);
// How often a silent job is looked at, in case somebody else has halted it.
constexpr Duration kLookEvery = Duration::seconds(1);
constexpr int kInterrupted = 130;

class Attachment {
 public:
  Attachment(Session& session, std::string job, bool many, const Attached& how)
      : session_(session),
        how_(how),
        job_(std::move(job)),
        many_(many),
        stream_(session, job_target(job_, "/logs?follow=1"), "cursor", "cursor"),
        progress_(stderr_is_terminal()) {
    CHECK(!job_.empty(), "a job that was accepted has an id");
    session_.tell_by([this](const std::string& line) { progress_.say(line); });
    leave_last_word("runnel: the job goes on: runnel logs -f " + job_ + "\n");
  }
  ~Attachment() {
    session_.tell_by({});
    leave_last_word("");
  }
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  Result<int> run() {
    if (!how_.quiet) say("job " + job_ + "  (logs: runnel logs " + job_ + ")");
    while (!stream_.ended()) {
      auto line = stream_.next(kDrawEvery);
      TRY(obey_interrupts());
      strike();
      if (!line.ok()) return line.error();
      const bool silent = !line->has_value();
      if (!silent) TRY(print_all(**line));
      if (!is_time_to_look()) continue;
      looked_ = now();
      const json::Value job = TRY(look());
      if (silent && has_settled(job) && !has_ended(job)) return halted();
      if (stream_.ended() || obeyed_ > 0) continue;
      tell_of_warnings(job);
      if (silent) tell_of_waits(job);
      if (silent || !progress_.yields()) progress_.draw(job, now() - begun_);
    }
    progress_.clear();
    leave_last_word("");
    return ending(TRY(document()));
  }

 private:
  static Duration now() { return env::real_clock().boot(); }
  Result<json::Value> document() { return session_.get(job_target(job_)); }

  // The line and all that came with it.
  Result<void> print_all(const json::Value& first) {
    OutputBatch batch;
    add_output(batch, first, how_.output, many_);
    for (auto line = TRY(stream_.ready()); line.has_value(); line = TRY(stream_.ready())) {
      add_output(batch, *line, how_.output, many_);
    }
    progress_.print(batch);
    return {};
  }

  // However much it has to say: its state is drawn anew, and a warning is seen in time.
  bool is_time_to_look() const {
    const Duration every = stderr_is_terminal() ? kDrawEvery : kLookEvery;
    return now() >= quiet_until_ && now() - looked_ >= every;
  }

  // With its progress, which is drawn on a terminal only. What tasks report may be much to read: no
  // more than a tenth of the time goes into it.
  Result<json::Value> look() {
    if (!stderr_is_terminal()) return document();
    const Duration begun = now();
    Result<json::Value> job = session_.get(job_target(job_, "?include=progress"));
    quiet_until_ = now() + (now() - begun) * 10;
    return job;
  }

  // The first Ctrl-C halts the job with its grace, the second cancels it. What the tasks still have
  // to say is shown meanwhile.
  Result<void> obey_interrupts() {
    while (obeyed_ < interrupts() && obeyed_ < 2) {
      progress_.clear();
      leave_last_word("");
      const bool first = ++obeyed_ == 1;
      say(first ? "runnel: pausing " + job_ + "; press Ctrl-C again to cancel it"
                : "runnel: cancelling " + job_);
      const std::string lost = first ? work_lost_by_pause(session_, job_) : "";
      if (!lost.empty()) say("runnel: " + lost);
      auto answer = session_.post(job_target(job_, first ? ":halt" : ":cancel"));
      if (!answer.ok() && answer.error().code != Errc::kConflict) return answer.error();
    }
    return {};
  }

  void strike() {
    if (how_.chaos == nullptr || now() - struck_ < kLookEvery) return;
    struck_ = now();
    const std::string told = how_.chaos->look(struck_);
    if (told.empty()) return;
    progress_.say("runnel: " + told);
  }

  void tell_of_warnings(const json::Value& job) {
    for (const std::string& line : warnings_.news(job)) progress_.say("runnel: warning: " + line);
  }

  // Nothing is said: whoever waits should know for what.
  void tell_of_waits(const json::Value& job) {
    if (has_ended(job) || now() - explained_ < kLookEvery) return;
    explained_ = now();
    const Result<json::Value> explanation = session_.get(job_target(job_, "/explain"));
    const Waits::Job doing = is_active(job) ? Waits::Job::kRuns : Waits::Job::kWaits;
    if (!explanation.ok()) return;  // The stream of output tells what is wrong with the daemon.
    for (const std::string& line : waits_.news(*explanation, doing))
      progress_.say("runnel: " + line);
  }

  // Ended as far as its output went, and somebody has it tried again.
  int left_behind(const json::Value& job) {
    progress_.clear();
    say("runnel: " + job_ + " goes on (" + text_of(job, "status") +
        "); follow it with: runnel logs -f " + job_);
    return kStatusNotFinished;
  }

  int halted() {
    progress_.clear();
    say("runnel: " + job_ + " is paused; resume with: runnel resume " + job_);
    return obeyed_ > 0 ? kInterrupted : kStatusNotFinished;
  }

  int ending(const json::Value& job) {
    tell_of_warnings(job);
    if (!has_settled(job)) return left_behind(job);
    if (!has_ended(job)) return halted();
    const std::string spared = how_.chaos == nullptr ? "" : how_.chaos->spared();
    if (!spared.empty()) say("runnel: " + spared);
    if (!how_.quiet) say_end(session_, job, how_.end);
    return obeyed_ > 0 ? kInterrupted : static_cast<int>(number_of(job, "exit_code", 1));
  }

  Session& session_;
  Attached how_;
  std::string job_;
  bool many_;
  LineStream stream_;
  Progress progress_;
  Waits waits_;
  Warnings warnings_;
  const Duration begun_ = now();
  Duration looked_ = begun_;
  Duration explained_ = now();
  Duration struck_ = now();
  Duration quiet_until_;
  int obeyed_ = 0;  // Interrupts that were acted on.
};

}  // namespace

Result<int> attach(Session& session, const json::Value& job, const Attached& how) {
  watch_interrupts();
  const bool many = has_many_ranks(job);
  Attached told = how;
  if (many && told.end == EndStyle::kWhole) told.end = EndStyle::kWithOutput;
  return Attachment(session, text_of(job, "id"), many, told).run();
}

}  // namespace runnel::cli
