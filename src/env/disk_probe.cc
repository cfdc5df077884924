#include "env/disk_probe.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <ctime>

#include "base/check.h"
#include "env/clock.h"

namespace runnel::env {
namespace {

constexpr timespec kLookAgain = {0, 200'000};

// To remove what is not there changes nothing, and waits for the disk all the same.
void touch(const char* absent) { (void)::unlink(absent); }

void look_at(const char* path) {
  struct stat status{};
  (void)::stat(path, &status);
}

[[noreturn]] void ask_in_child(void (*ask)(const char*), const char* path) {
  ::close_range(0, ~0U, 0);  // A reader of our parent's output waits for all who hold the pipe.
  ask(path);
  ::_exit(0);
}

enum class Answer : std::uint8_t { kGiven, kNone };

Result<Answer> ask(void (*question)(const char*), const std::string& path, Duration patience) {
  CHECK(path.starts_with('/'), "the child may be anywhere");
  CHECK(patience >= Duration(), "a patience is a length");
  const pid_t child = ::fork();
  if (child < 0) return errno_error("start a process", errno);
  if (child == 0) ask_in_child(question, path.c_str());
  const Duration begun = real_clock().boot();
  while (real_clock().boot() - begun < patience) {
    const pid_t ended = ::waitpid(child, nullptr, WNOHANG);
    if (ended == child || (ended < 0 && errno != EINTR)) return Answer::kGiven;
    ::nanosleep(&kLookAgain, nullptr);
  }
  ::kill(child, SIGKILL);
  return Answer::kNone;
}

}  // namespace

Result<void> probe_disk(const std::string& folder, Duration patience) {
  if (TRY(ask(touch, folder + "/.runnel-is-not-here", patience)) == Answer::kGiven) return {};
  return Error(Errc::kTimeout, "the disk of " + folder + " has not answered for " + human(patience))
      .with_value(folder);
}

Result<void> probe_path(const std::string& path, Duration patience) {
  if (TRY(ask(look_at, path, patience)) == Answer::kGiven) return {};
  return Error(Errc::kTimeout, path + " has not answered for " + human(patience)).with_value(path);
}

}  // namespace runnel::env
