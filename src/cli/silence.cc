#include "cli/silence.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "cli/print.h"

namespace runnel::cli {

namespace {

constexpr std::size_t kStartsTold = 3;

// "job 1m83, step 'train': 3 tasks wait, task 0 since ..., for ...; ..."
void tell_of_slow_starts(const json::Value::List& starts) {
  for (std::size_t index = 0; index < std::min(starts.size(), kStartsTold); ++index) {
    const json::Value& start = starts[index];
    say("job " + text_of(start, "job") + ", step '" + text_of(start, "step") +
        "': " + text_of(start, "message") + "; " + text_of(start, "remedy"));
  }
  if (starts.size() > kStartsTold) {
    say("and " + std::to_string(starts.size() - kStartsTold) + " more: runnel explain tells");
  }
}

}  // namespace

void tell_of_silence(const json::Value& document) {
  for (const char* part : {"disk_full", "disk_silence", "runner_silence", "nodes_problem"}) {
    const json::Value* silence = document.find(part);
    if (silence == nullptr) continue;
    const json::Value* remedy = silence->find("remedy");
    CHECK(remedy != nullptr && remedy->is_text(), "a silence without a remedy");
    say(text_of(*silence, "message") + "; " + remedy->as_text());  // An example has lines.
  }
  tell_of_slow_starts(list_at(document, "slow_starts"));
}

}  // namespace runnel::cli
