#include "runner/runner.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <utility>

#include "env/clock.h"
#include "env/file_lock.h"
#include "env/files.h"
#include "env/lock_holder.h"
#include "env/process.h"
#include "env/signals.h"
#include "output/open_file.h"
#include "runner/folders.h"
#include "runner/home_socket.h"
#include "runner/journal.h"
#include "runner/process_tree.h"
#include "runner/recovery.h"
#include "runner/runner_log.h"
#include "runner/server.h"
#include "runner/supervisor.h"

namespace runnel::runner {
namespace {

constexpr rlim_t kOpenFilesWanted = 65'536;

std::string journal_path(const std::string& home) { return runner_folder(home) + "/journal"; }

// Every signal at its default and blocked: those we serve arrive by the descriptor, and children
// start with an empty mask.
Result<async::UniqueFd> take_over_signals() {
  env::restore_default_signals();
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  sigset_t served;
  ::sigemptyset(&served);
  for (const int number : {SIGCHLD, SIGTERM, SIGINT}) ::sigaddset(&served, number);
  async::UniqueFd signals(::signalfd(-1, &served, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) return errno_error("make a signal descriptor", errno);
  return signals;
}

// Descriptors 0, 1 and 2 exist, so that no file of ours takes their place; nothing else is open.
void take_over_descriptors() {
  while (true) {
    const int file = ::open("/dev/null", O_RDWR);
    if (file < 0 || file > STDERR_FILENO) {
      if (file > STDERR_FILENO) ::close(file);
      break;
    }
  }
  ::syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0);
}

// More files for us than a process gets by default; our processes get what we were given.
std::optional<rlimit> raise_open_files() {
  rlimit given{};
  if (::getrlimit(RLIMIT_NOFILE, &given) != 0 || given.rlim_cur >= kOpenFilesWanted) return {};
  rlimit wanted = given;
  wanted.rlim_cur = std::min<rlim_t>(given.rlim_max, kOpenFilesWanted);
  if (::setrlimit(RLIMIT_NOFILE, &wanted) != 0) return {};
  return given;
}

// The home's own folder, locked for as long as we live: one runner per home, whatever file of it is
// lost. Not valid: another has it. A file system that locks no folders leaves it to the pid file.
Result<async::UniqueFd> lock_home(const std::string& home) {
  async::UniqueFd folder(::open(home.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.valid()) return errno_error("open " + home, errno);
  if (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) folder.reset();
  return folder;
}

// The pid file, locked likewise: what runners of earlier builds look at. Not valid: another has it.
Result<async::UniqueFd> lock_pid_file(const std::string& path) {
  while (true) {
    async::UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    if (!file.valid()) return errno_error("open " + path, errno);
    if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return async::UniqueFd();
      return errno_error("lock " + path, errno);
    }
    if (!output::is_same_file(file.get(), path)) continue;  // Its last owner has just removed it.
    if (!env::write_pid(file.get())) log_line("its pid file cannot be written");
    return file;
  }
}

// A text that is the same for each runner of this home and no other's.
std::string token_of_home(const std::string& home) {
  struct stat status{};
  if (::stat(home.c_str(), &status) != 0) return "h0";
  char text[64];
  std::snprintf(text, sizeof text, "h%llx-%llx", static_cast<unsigned long long>(status.st_dev),
                static_cast<unsigned long long>(status.st_ino));
  return text;
}

Incarnation new_incarnation(const std::string& boot) {
  return Incarnation(boot.substr(0, 8) + "-" + std::to_string(::getpid()) + "-" +
                     std::to_string(env::real_clock().boot().millis()));
}

Result<void> serve(const RunnerOptions& options, async::UniqueFd signals,
                   std::optional<rlimit> open_files, mode_t file_mask) {
  const std::string boot = boot_id();
  const std::string token = token_of_home(options.home);
  Recovered recovered =
      recover({options.home, journal_path(options.home), boot, token, options.recovery_grace});
  if (!recovered.notice.empty()) log_line(recovered.notice);
  const Incarnation fresh = new_incarnation(boot);
  const Incarnation incarnation = recovered.incarnation.empty() ? fresh : recovered.incarnation;
  SupervisorOptions supervising{options.home, boot,       incarnation, token + "." + fresh.str(),
                                token,        open_files, file_mask};
  Supervisor supervisor(
      std::move(supervising),
      TRY(Journal::create(journal_path(options.home), {boot, incarnation, options.home, token})));
  supervisor.adopt(recovered.ended);
  TRY(supervisor.open());
  HomeSocket socket = TRY(HomeSocket::open(options.home));
  RunnerServer server(options, supervisor, socket, std::move(signals),
                      Welcome{kRunnerProtocolVersion, incarnation, ::getpid(), recovered.notice,
                              recovered.crashed_idle});
  server.run();
  socket.close();
  supervisor.close();
  return {};
}

Result<void> run(const RunnerOptions& options) {
  take_over_descriptors();
  async::UniqueFd signals = TRY(take_over_signals());
  const std::optional<rlimit> open_files = raise_open_files();
  const mode_t file_mask = env::keep_files_private();
  if (::chdir("/") != 0) return errno_error("enter the root folder", errno);
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return errno_error("become a subreaper", errno);
  ::prctl(PR_SET_NAME, kRunnerProcessName);
  TRY(env::make_directories(runner_folder(options.home)));
  const async::UniqueFd home = TRY(lock_home(options.home));
  if (!home.valid()) {
    log_line("it ends: another process holds a lock on the home's folder");
    return {};
  }
  const std::string pid_file = runner_pid_file(options.home);
  const async::UniqueFd lock = TRY(lock_pid_file(pid_file));
  if (!lock.valid()) return {};
  const Result<void> served = serve(options, std::move(signals), open_files, file_mask);
  if (output::is_same_file(lock.get(), pid_file)) ::unlink(pid_file.c_str());
  return served;
}

}  // namespace

std::string runner_folder(const std::string& home) { return home + "/runner"; }
std::string runner_socket(const std::string& home) { return runner_folder(home) + "/sock"; }
std::string runner_pid_file(const std::string& home) { return runner_folder(home) + "/pid"; }
std::string runner_log_file(const std::string& home) { return runner_folder(home) + "/log"; }

bool runner_lives(const std::string& home) {
  return env::is_locked(home) || env::is_locked(runner_pid_file(home));
}

std::int64_t living_runner(const std::string& home) {
  return env::lock_holder({home, runner_pid_file(home)});
}

int runner_main(const RunnerOptions& options) {
  const Result<void> done = run(options);
  if (done.ok()) return 0;
  log_line("the runner ends: " + done.error().to_string());
  return 1;
}

}  // namespace runnel::runner
