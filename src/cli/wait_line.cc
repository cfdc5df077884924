#include "cli/wait_line.h"

#include "cli/print.h"

namespace runnel::cli {

std::string wait_line(const json::Value& wait) {
  std::string line =
      text_of(wait, "step") + ": " + text_of(wait, "reason") + ": " + text_of(wait, "message");
  const std::string remedy = text_of(wait, "remedy");
  return remedy.empty() ? line : line + "; " + remedy;
}

}  // namespace runnel::cli
