#include "env/process.h"

#include <fcntl.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/check.h"
#include "env/detail/descriptor.h"
#include "env/detail/pointers.h"
#include "env/files.h"
#include "env/signals.h"

namespace runnel::env {
namespace {

using detail::Descriptor;
using detail::pointers_to;

constexpr mode_t kPrivate = 077;

// The mask that we were started with, once we have another.
std::optional<mode_t>& given_mask() {
  static std::optional<mode_t> mask;
  return mask;
}

// What the starting child tells us through the pipe before exec closes it.
struct StartReport {
  std::int64_t pid = 0;
  int error = 0;  // errno of what failed, 0 while nothing has.
};

// All that the children need, made before the fork: between fork and exec only system calls are
// safe.
struct Launch {
  std::vector<char*> argv;
  std::vector<char*> environment;
  const char* directory;
  std::optional<mode_t> file_mask;
  int null_device;
  int log;
  int report;
};

[[noreturn]] void give_up(int report) {
  const StartReport message{::getpid(), errno};
  (void)!::write(report, &message, sizeof message);
  ::_exit(127);
}

void reset_signals() {
  restore_default_signals();
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// The pipe moves to 3, everything above is closed.
int keep_only(int report) {
  constexpr int kReport = 3;
  if (report != kReport && ::dup3(report, kReport, O_CLOEXEC) < 0) return -1;
  if (::close_range(kReport + 1, ~0U, 0) != 0) return -1;
  return kReport;
}

[[noreturn]] void become(const Launch& launch) {
  reset_signals();
  if (launch.file_mask) ::umask(*launch.file_mask);
  const bool ready = ::dup2(launch.null_device, STDIN_FILENO) >= 0 &&
                     ::dup2(launch.log, STDOUT_FILENO) >= 0 &&
                     ::dup2(launch.log, STDERR_FILENO) >= 0 && ::chdir(launch.directory) == 0;
  if (!ready) give_up(launch.report);
  const int report = keep_only(launch.report);
  if (report < 0) give_up(launch.report);
  const StartReport started{::getpid(), 0};
  (void)!::write(report, &started, sizeof started);
  ::execve(launch.argv[0], launch.argv.data(), launch.environment.data());
  give_up(report);
}

// In the first child: a session without a terminal, and a second child that does not lead it and so
// can never get one. The first child ends at once, which makes the second an orphan.
[[noreturn]] void detach(const Launch& launch) {
  ::setsid();
  const pid_t second = ::fork();
  if (second < 0) give_up(launch.report);
  if (second == 0) become(launch);
  ::_exit(0);
}

// The last report before the pipe closed: by exec, or by death.
StartReport read_report(int pipe) {
  StartReport last;
  last.error = ECHILD;
  StartReport next;
  for (;;) {
    const ssize_t got = ::read(pipe, &next, sizeof next);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof next)) return last;
    last = next;
  }
}

void reap(pid_t child) {
  while (::waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// Descriptors 0 to 2 belong to the new process; ours must not sit there.
Result<Descriptor> above_standard(Descriptor file, const std::string& what) {
  if (!file.is_open()) return errno_error(what, errno);
  if (file.number() > STDERR_FILENO) return file;
  Descriptor moved(::fcntl(file.number(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!moved.is_open()) return errno_error(what, errno);
  return moved;
}

}  // namespace

std::optional<std::string> variable(const std::string& name) {
  const char* value = ::getenv(name.c_str());
  if (value == nullptr) return std::nullopt;
  return std::string(value);
}

std::string user_name() {
  if (std::optional<std::string> name = variable("USER"); name && !name->empty()) return *name;
  const uid_t user = ::geteuid();
  std::array<char, 4096> space;
  passwd entry{};
  passwd* found = nullptr;
  const int problem = ::getpwuid_r(user, &entry, space.data(), space.size(), &found);
  return problem == 0 && found != nullptr ? found->pw_name : std::to_string(user);
}

std::vector<std::string> environment() {
  std::vector<std::string> out;
  for (char** each = ::environ; each != nullptr && *each != nullptr; ++each)
    out.emplace_back(*each);
  return out;
}

void forget_variables(std::string_view prefix) {
  CHECK(!prefix.empty(), "a process does not forget its search path and home");
  std::vector<std::string> names;
  for (char** each = ::environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view variable(*each);
    const std::size_t equals = variable.find('=');
    if (!variable.starts_with(prefix) || equals == variable.npos) continue;
    names.emplace_back(variable.substr(0, equals));
    ::explicit_bzero(*each + equals + 1, variable.size() - equals - 1);
  }
  for (const std::string& name : names) ::unsetenv(name.c_str());
}

Result<std::string> executable_path() {
  std::array<char, 4096> path;
  const ssize_t size = ::readlink("/proc/self/exe", path.data(), path.size());
  if (size < 0) return errno_error("read /proc/self/exe", errno);
  return std::string(path.data(), static_cast<std::size_t>(size));
}

unsigned keep_files_private() {
  const mode_t before = ::umask(kPrivate);
  if (!given_mask()) given_mask() = before;
  return *given_mask();
}

Result<std::int64_t> spawn_detached(const DetachedProcess& process) {
  CHECK(!process.argv.empty(), "a process has a file to run");
  CHECK(process.argv[0].find('/') != std::string::npos,
        "the file to run is a path: PATH is not searched");
  CHECK(!process.log_file.empty(), "a process without a terminal has a log file");
  const Descriptor null_device =
      TRY(above_standard(Descriptor(::open("/dev/null", O_RDONLY | O_CLOEXEC)), "open /dev/null"));
  const int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC;
  const Descriptor log = TRY(above_standard(
      Descriptor(::open(process.log_file.c_str(), flags, 0600)), "open " + process.log_file));
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error("make a pipe", errno);
  const Descriptor reading(ends[0]);
  Descriptor writing = TRY(above_standard(Descriptor(ends[1]), "make a pipe"));
  const Launch launch{pointers_to(process.argv), pointers_to(process.environment),
                      process.directory.c_str(), given_mask(),
                      null_device.number(),      log.number(),
                      writing.number()};
  const pid_t first = ::fork();
  if (first < 0) return errno_error("start " + process.argv[0], errno);
  if (first == 0) detach(launch);
  writing.reset();
  const StartReport report = read_report(reading.number());
  reap(first);
  if (report.error != 0) return errno_error("start " + process.argv[0], report.error);
  CHECK(report.pid > 1, "a started process has told its pid");
  return report.pid;
}

namespace {

// Processes of other users may be hidden in /proc (`hidepid`), and a process without room for an
// open file sees nothing there.
bool may_be_there(std::int64_t pid) {
  if (pid <= 0 || !std::in_range<pid_t>(pid)) return false;
  return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno != ESRCH;
}

}  // namespace

ProcessState process_state(std::int64_t pid) {
  const Result<std::string> stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!stat.ok()) return may_be_there(pid) ? ProcessState::kRuns : ProcessState::kGone;
  // "12 (any name) Z ...": the name may hold anything but ends with the last bracket.
  const std::size_t name_end = stat->rfind(") ");
  const std::string letter = name_end == std::string::npos ? "" : stat->substr(name_end + 2, 1);
  if (letter.empty() || letter == "Z" || letter == "X") return ProcessState::kGone;
  if (letter == "T" || letter == "t") return ProcessState::kStopped;
  return letter == "D" ? ProcessState::kWaitsForDisk : ProcessState::kRuns;
}

bool is_being_killed(std::int64_t thread) {
  constexpr std::uint64_t kKill = std::uint64_t{1} << (SIGKILL - 1);
  const Result<std::string> status = read_file("/proc/" + std::to_string(thread) + "/status");
  if (!status.ok()) return false;
  for (const std::string_view field : {"\nSigPnd:", "\nShdPnd:"}) {
    const std::size_t at = status->find(field);
    if (at == std::string::npos) continue;
    if (std::strtoull(status->c_str() + at + field.size(), nullptr, 16) & kKill) return true;
  }
  return false;
}

std::int64_t process_of(std::int64_t thread) {
  constexpr std::string_view kField = "\nTgid:";
  const Result<std::string> status = read_file("/proc/" + std::to_string(thread) + "/status");
  const std::size_t at = status.ok() ? status->find(kField) : std::string::npos;
  if (at == std::string::npos) return 0;
  return std::strtoll(status->c_str() + at + kField.size(), nullptr, 10);
}

std::string process_name(std::int64_t pid) {
  const Result<std::string> name = read_file("/proc/" + std::to_string(pid) + "/comm");
  return name.ok() ? name->substr(0, name->find('\n')) : "";
}

bool process_runs(std::int64_t pid) { return process_state(pid) != ProcessState::kGone; }

bool is_root() { return ::geteuid() == 0; }

}  // namespace runnel::env
