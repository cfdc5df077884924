#pragma once

#include <string>
#include <vector>

#include "cli/session.h"
#include "json/value.h"

namespace runnel::cli {

// The first task that failed of a job that has, which a person looks at first.
//
// Contract: made of the job's document; the rest is asked of the daemon, and what it does not tell
//           any more is left out: a failure is told in any case.
class Failure {
 public:
  using Lines = std::vector<std::string>;
  Failure(Session& session, const json::Value& job);

  // Whether the job names one.
  bool is_known() const { return !step_.empty(); }
  // "runnel logs 1m80wqfeewtr/train/0", with --rank where several ranks wrote.
  std::string logs_command() const;
  // "rank 1 of 2 of train/0 ended with exit code 7 (NonZeroExit): why, in a sentence".
  std::string cause() const;
  // The last that its last attempt wrote; those before may have failed for another cause.
  Lines last_lines();

  // "the last lines of its output:" and these, two columns in; nothing where it wrote none.
  Lines output_block();

 private:
  void read_attempt();

  Session& session_;
  std::string job_;
  std::string step_;
  std::string task_;
  std::string summary_;
  std::string logs_rank_;
  std::string sentence_;
  std::int64_t attempt_ = 0;  // The last; 0: not known.
  std::int64_t rank_ = -1;    // The one that failed first, where one did.
};

}  // namespace runnel::cli
