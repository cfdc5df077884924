#include "env/disk_probe.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

#include "base/check.h"
#include "env/clock.h"

namespace runnel::env {
namespace {

constexpr timespec kLookAgain = {0, 500'000};

// In the child. To remove what is not there changes nothing, and waits for the disk all the same.
[[noreturn]] void touch(const char* absent) {
  ::close_range(0, ~0U, 0);  // Who reads what our parent writes waits for all who hold the pipe.
  (void)::unlink(absent);
  ::_exit(0);
}

}  // namespace

Result<void> probe_disk(const std::string& folder, Duration patience) {
  CHECK(folder.starts_with('/'), "the child may be anywhere");
  CHECK(patience >= Duration(), "a patience is a length");
  const std::string absent = folder + "/.runnel-is-not-here";
  const pid_t child = ::fork();
  if (child < 0) return errno_error("start a process", errno);
  if (child == 0) touch(absent.c_str());
  const Duration begun = real_clock().boot();
  while (real_clock().boot() - begun < patience) {
    const pid_t ended = ::waitpid(child, nullptr, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return {};
    ::nanosleep(&kLookAgain, nullptr);
  }
  ::kill(child, SIGKILL);
  return Error(Errc::kTimeout, "the disk of " + folder + " has not answered for " + human(patience))
      .with_value(folder);
}

}  // namespace runnel::env
