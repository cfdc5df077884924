#include "runner/runner_log.h"

#include <unistd.h>

#include "env/clock.h"

namespace runnel::runner {

void log_line(const std::string& text) {
  const std::string line = rfc3339(env::real_clock().wall()) + " " + text + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace runnel::runner
