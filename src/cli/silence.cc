#include "cli/silence.h"

#include "cli/print.h"

namespace runnel::cli {

void tell_of_silence(const json::Value& document) {
  const json::Value* silence = document.find("runner_silence");
  if (silence == nullptr) return;
  say(text_of(*silence, "message") + "; " + text_of(*silence, "remedy"));
}

}  // namespace runnel::cli
