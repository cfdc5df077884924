#include "cli/failure.h"

#include <optional>

#include "base/check.h"
#include "cli/job_state.h"
#include "cli/last_lines.h"
#include "cli/log_stream.h"
#include "cli/output_line.h"
#include "cli/print.h"
#include "cli/target.h"
#include "http/message.h"

namespace runnel::cli {
namespace {

constexpr Duration kFailureLineWithin = Duration::seconds(1);
constexpr int kSilencesMax = 5;
constexpr int kLinesRead = 200;  // Lines of both streams together, to find the last of stderr.

std::int64_t ranks_of(const json::Value& job, const std::string& step) {
  for (const json::Value& each : list_at(job, "steps")) {
    if (text_of(each, "name") == step) return number_of(each, "ranks", 1);
  }
  return 1;
}

// The summary has the exit code already; what is said besides stays.
std::string without_exit_code(std::string sentence) {
  constexpr std::string_view kAnd = ", and ";
  if (!sentence.starts_with("exited with code")) return sentence;
  const std::size_t more = sentence.find(kAnd);
  return more == std::string::npos ? "" : sentence.substr(more + kAnd.size());
}

}  // namespace

Failure::Failure(Session& session, const json::Value& job)
    : session_(session), job_(text_of(job, "id")) {
  CHECK(!job_.empty(), "a failure of no job");
  const json::Value* first = job.find("first_failure");
  if (first == nullptr) return;
  step_ = text_of(*first, "step");
  task_ = std::to_string(number_of(*first, "task"));
  summary_ = first_failure(job);
  read_attempt();
  const std::int64_t ranks = ranks_of(job, step_);
  if (ranks < 2 || rank_ < 0) return;
  logs_rank_ = " --rank " + std::to_string(rank_);
  summary_ = "rank " + std::to_string(rank_) + " of " + std::to_string(ranks) + " of " + summary_;
}

void Failure::read_attempt() {
  const std::string target = "/tasks/" + http::percent_encode(step_) + "/" + task_;
  const Result<json::Value> task = session_.get(job_target(job_, target));
  if (!task.ok() || list_at(*task, "attempts").empty()) return;
  const json::Value& last = list_at(*task, "attempts").back();
  sentence_ = without_exit_code(text_of(last, "message"));
  attempt_ = number_of(last, "attempt");
  rank_ = number_of(last, "first_failed_rank", -1);
}

std::string Failure::logs_command() const {
  return "runnel logs " + job_ + "/" + step_ + "/" + task_ + logs_rank_;
}

std::string Failure::cause() const {
  return sentence_.empty() ? summary_ : summary_ + ": " + sentence_;
}

Failure::Lines Failure::last_lines() {
  CHECK(is_known(), "the last lines of nobody");
  std::string target = job_target(job_, "/logs?follow=0");
  target = with_query(std::move(target), "step", step_);
  target = with_query(std::move(target), "task", task_);
  if (attempt_ > 0) target = with_query(std::move(target), "attempt", std::to_string(attempt_));
  if (rank_ >= 0) target = with_query(std::move(target), "rank", std::to_string(rank_));
  target = with_query(std::move(target), "tail", std::to_string(kLinesRead));
  LineStream stream(session_, target, "cursor", "cursor");
  LastLines last;
  for (int silences = 0; !stream.ended() && silences < kSilencesMax;) {
    const Result<std::optional<json::Value>> line = stream.next(kFailureLineWithin);
    if (!line.ok()) break;
    if (!line->has_value()) {
      ++silences;
      continue;
    }
    if (damage_of(**line).empty()) last.add(**line);
  }
  return last.lines();
}

Failure::Lines Failure::output_block() {
  Lines block;
  for (const std::string& line : last_lines()) block.push_back("  " + line);
  if (!block.empty()) block.insert(block.begin(), "the last lines of its output:");
  return block;
}

}  // namespace runnel::cli
