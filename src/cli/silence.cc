#include "cli/silence.h"

#include "base/check.h"
#include "cli/print.h"

namespace runnel::cli {

void tell_of_silence(const json::Value& document) {
  for (const char* part : {"disk_full", "disk_silence", "runner_silence", "nodes_problem"}) {
    const json::Value* silence = document.find(part);
    if (silence == nullptr) continue;
    const json::Value* remedy = silence->find("remedy");
    CHECK(remedy != nullptr && remedy->is_text(), "a silence without a remedy");
    say(text_of(*silence, "message") + "; " + remedy->as_text());  // An example has lines.
  }
}

}  // namespace runnel::cli
