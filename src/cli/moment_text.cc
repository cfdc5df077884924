#include "cli/moment_text.h"

#include <ctime>

#include "base/check.h"
#include "base/units.h"
#include "cli/print.h"

namespace runnel::cli {

std::string local_moment(const std::string& rfc3339) {
  const Result<Time> moment = parse_rfc3339(rfc3339);
  if (!moment.ok()) return rfc3339;
  const std::time_t seconds = static_cast<std::time_t>(moment->millis() / 1000);
  std::tm parts{};
  if (::localtime_r(&seconds, &parts) == nullptr) return rfc3339;
  char text[32];
  const std::size_t written = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  CHECK(written > 0, "a moment of the calendar is short");
  return text;
}

std::string moment_text(const std::string& rfc3339) {
  return stdout_is_terminal() ? local_moment(rfc3339) : rfc3339;
}

}  // namespace runnel::cli
