#include "env/subprocess.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/check.h"
#include "env/clock.h"
#include "env/detail/descriptor.h"
#include "env/detail/pointers.h"

namespace runnel::env {
namespace {

// Who watches whether this thread gets on sees that it does, as long as the process may.
constexpr Duration kWakesEvery = Duration::seconds(1);

// Standard output into the pipe, nothing to read, and a process group of its own: what it starts is
// killed with it.
Result<pid_t> spawn(const Subprocess& process, int output) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t settings;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&settings);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&files, output, STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&settings, &none);
  ::posix_spawnattr_setpgroup(&settings, 0);
  ::posix_spawnattr_setflags(&settings, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  std::vector<char*> words = detail::pointers_to(process.argv);
  std::vector<char*> variables = detail::pointers_to(process.environment);
  char** const environment = process.environment.empty() ? ::environ : variables.data();
  pid_t pid = 0;
  const int problem = ::posix_spawnp(&pid, words[0], &files, &settings, words.data(), environment);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&settings);
  if (problem != 0) return errno_error("start " + process.argv[0], problem);
  return pid;
}

Error took_too_long(const Subprocess& process) {
  return {Errc::kTimeout,
          process.argv[0] + " did not end within " + to_string(process.runs_at_most)};
}

Result<std::string> read_until(Duration end, int pipe, const Subprocess& process) {
  std::string text;
  std::array<char, 4'096> bytes;
  while (text.size() < process.bytes_max) {
    const Duration left = end - real_clock().boot();
    if (left <= Duration()) return took_too_long(process);
    pollfd ready{pipe, POLLIN, 0};
    const int polled = ::poll(&ready, 1, static_cast<int>(std::min(left, kWakesEvery).millis()));
    if (polled < 0 && errno != EINTR) return errno_error("wait for " + process.argv[0], errno);
    if (polled <= 0) continue;
    const ssize_t got = ::read(pipe, bytes.data(), bytes.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno_error("read from " + process.argv[0], errno);
    if (got == 0) return text;
    text.append(bytes.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// Nothing when it goes on for longer.
std::optional<int> status_within(pid_t child, Duration most) {
  const Duration end = real_clock().boot() + most;
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) != child) {
    if (real_clock().boot() >= end) return std::nullopt;
    ::poll(nullptr, 0, 5);
  }
  return status;
}

// A driver that hangs can hold a killed process for ever: nobody waits for it then.
void kill_group(pid_t child) {
  ::kill(-child, SIGKILL);
  (void)status_within(child, Duration::millis(500));
}

}  // namespace

Result<Finished> finish(const Subprocess& process) {
  CHECK(!process.argv.empty(), "a process has a program to run");
  CHECK(process.runs_at_most > Duration(), "a process has time to run");
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error("make a pipe", errno);
  const detail::Descriptor reading(ends[0]);
  detail::Descriptor writing(ends[1]);
  const pid_t child = TRY(spawn(process, writing.number()));
  writing.reset();
  const Duration end = real_clock().boot() + process.runs_at_most;
  Result<std::string> text = read_until(end, reading.number(), process);
  const bool whole = text.ok() && text->size() < process.bytes_max;
  const std::optional<int> status =
      whole ? status_within(child, end - real_clock().boot()) : std::nullopt;
  if (!status) kill_group(child);
  if (!text.ok()) return text.error();
  if (!whole) {
    return Error(Errc::kFull,
                 process.argv[0] + " wrote more than " +
                     to_string(Bytes::count(static_cast<std::int64_t>(process.bytes_max))));
  }
  if (!status) return took_too_long(process);
  const int code = WIFEXITED(*status) ? WEXITSTATUS(*status) : -WTERMSIG(*status);
  return Finished{*std::move(text), code};
}

Result<std::string> output_of(const Subprocess& process) {
  Finished finished = TRY(finish(process));
  if (finished.code == 0) return std::move(finished.text);
  const std::string how = finished.code > 0 ? " with exit code " + std::to_string(finished.code)
                                            : " by signal " + std::to_string(-finished.code);
  return Error(Errc::kIo, process.argv[0] + " failed" + how);
}

}  // namespace runnel::env
