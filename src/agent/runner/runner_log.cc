#include "agent/runner/runner_log.h"

#include <unistd.h>

#include "agent/runner/moment.h"

namespace runnel::agent {

void log_line(const std::string& text) {
  const std::string line = rfc3339(wall_now()) + " " + text + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace runnel::agent
