#include "cli/silence.h"

#include "cli/print.h"

namespace runnel::cli {

void tell_of_silence(const json::Value& document) {
  for (const char* part : {"disk_full", "disk_silence", "runner_silence"}) {
    const json::Value* silence = document.find(part);
    if (silence == nullptr) continue;
    say(text_of(*silence, "message") + "; " + text_of(*silence, "remedy"));
  }
}

}  // namespace runnel::cli
