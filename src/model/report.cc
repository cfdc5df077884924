#include "model/report.h"

#include "model/detail/words.h"

namespace runnel::model {
namespace {

constexpr detail::Words<8> kCauseWords = {"exited",      "stopped",   "timeout",  "out_of_memory",
                                          "not_started", "port_busy", "vanished", "runner_lost"};

}  // namespace

std::string_view to_string(EndCause cause) { return detail::word_of(cause, kCauseWords); }

Result<EndCause> parse_end_cause(std::string_view word) {
  return detail::parse_word<EndCause>(word, kCauseWords, "a cause of an end");
}

}  // namespace runnel::model
