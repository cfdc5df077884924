#include "fuse/holder.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <iterator>

#include "env/child_process.h"
#include "env/clock.h"

namespace runnel::fuse {
namespace {

Result<async::UniqueFd> file_of(const std::string& bytes) {
  async::UniqueFd file(::memfd_create("first-message", MFD_CLOEXEC));
  if (!file.valid()) return errno_error("make a file in memory", errno);
  const ssize_t written = ::pwrite(file.get(), bytes.data(), bytes.size(), 0);
  if (written != std::ssize(bytes)) return errno_error("write to a file in memory", errno);
  return file;
}

sigset_t taken_signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int each : {SIGCHLD, SIGHUP, SIGINT, SIGTERM}) ::sigaddset(&set, each);
  return set;
}

// FUSE_NOTIFY_RESEND. Before it, who waits for what a dead server has taken waits until the mount
// is no more.
bool can_ask_again() {
  utsname system{};
  int major = 0;
  int minor = 0;
  const bool is_known =
      ::uname(&system) == 0 && std::sscanf(system.release, "%d.%d", &major, &minor) == 2;
  return is_known && (major > 6 || (major == 6 && minor >= 9));
}

std::string end_text(int status) {
  if (WIFSIGNALED(status)) return "was killed by signal " + std::to_string(WTERMSIG(status));
  return "ended with " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

Result<std::string> Holder::first_message() {
  const async::UniqueFd file(kFirstMessage);
  std::string bytes(fuse::kFirstMessageMax, '\0');
  const ssize_t size = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  if (size <= 0) {
    return Error(Errc::kInvalid, "what serves a mount is started by what holds it")
        .with_hint("runnel volume mount NAME DIR");
  }
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}

Result<void> Holder::run() {
  TRY(open());
  TRY(start());
  while (TRY(take_event())) {
  }
  return {};
}

Result<void> Holder::open() {
  const sigset_t set = taken_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = async::UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!signals_.valid()) return errno_error("make a signal descriptor", errno);
  mount_ = TRY(MountPoint::create(options_.folder, options_.source));
  first_message_ = TRY(file_of(TRY(mount_->first_message())));
  return {};
}

Result<void> Holder::start() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return errno_error("make a pipe", errno);
  serving_ = async::UniqueFd(ends[0]);
  const async::UniqueFd said(ends[1]);
  env::ChildProcess server{.argv = options_.server,
                           .given = {{mount_->descriptor(), kConnection},
                                     {first_message_.get(), kFirstMessage},
                                     {said.get(), kServing}}};
  if (has_served_) server.argv.push_back(options_.takes_over);
  server_ = TRY(env::spawn_child(server));
  start_at_.reset();
  starts_.push_back(env::real_clock().boot());
  return {};
}

Result<bool> Holder::take_event() {
  std::array<pollfd, 2> watched{pollfd{signals_.get(), POLLIN, 0},
                                pollfd{serving_.get(), POLLIN, 0}};
  const int happened = ::poll(watched.data(), watched.size(), patience());
  if (happened < 0 && errno != EINTR) {
    return errno_error("wait for the server of a mount", errno);
  }
  if (happened == 0 && options_.look && has_served_) options_.look();
  if (watched[1].revents != 0) take_serving();
  if ((watched[0].revents & POLLIN) != 0) return take_signal();
  const bool is_time = start_at_ && env::real_clock().boot() >= *start_at_;
  if (is_time && mount_->is_gone()) return false;
  if (is_time) TRY(start());
  return true;
}

int Holder::patience() {
  Duration most = options_.look ? kLookEvery : Duration::millis(-1);
  if (start_at_) {
    const Duration left = std::max(*start_at_ - env::real_clock().boot(), Duration());
    most = options_.look ? std::min(most, left) : left;
  }
  return static_cast<int>(most.millis());
}

void Holder::take_serving() {
  char byte = 0;
  const bool serves = ::read(serving_.get(), &byte, 1) == 1;
  serving_.reset();
  serves_ = serves;
  if (!serves || has_served_) return;
  has_served_ = true;
  if (options_.mounted) options_.mounted();
}

Result<bool> Holder::take_signal() {
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof info) != sizeof info)
    return errno_error("read a signal", errno);
  if (info.ssi_signo == SIGCHLD) {
    int status = 0;
    const bool has_ended = ::waitpid(static_cast<pid_t>(server_), &status, WNOHANG) == server_;
    return has_ended ? after_server(status) : true;
  }
  const bool at_once = info.ssi_signo != SIGINT || ++interrupts_ > 1;
  unmount(at_once ? Unmount::kLazy : Unmount::kUnused);
  return true;
}

void Holder::unmount(Unmount how) {
  if (!mount_->is_on_top()) return;  // Out of sight already; it ends with its users.
  const Result<void> done = unmount_folder(options_.folder, how);
  if (!done.ok()) {
    options_.say(options_.folder + ": " + done.error().message +
                 "; once more takes it away from its users");
  }
}

Result<bool> Holder::after_server(int status) {
  const bool is_over = (WIFEXITED(status) && WEXITSTATUS(status) == 0) || mount_->is_gone();
  if (is_over) return false;
  const Duration now = env::real_clock().boot();
  if (serving_.valid()) take_serving();  // It may have said so and died.
  if (!has_served_) {
    return Error(Errc::kIo, "the mount could not be served").with_value(options_.folder);
  }
  if (serves_) died_at_ = now;
  const std::string what = "what serves " + options_.folder + " " + end_text(status);
  const bool is_in_time = now - died_at_ < kServesWithin;
  if (!can_ask_again() || !is_in_time || starts_within(now) >= kStartsMax) {
    return Error(Errc::kIo, what + ", and the mount is given up").with_value(options_.folder);
  }
  options_.say(what + ": started again");
  // One that could not serve is not started in a hurry.
  start_at_ = serves_ ? now : now + kPause;
  serves_ = false;
  return true;
}

std::size_t Holder::starts_within(Duration now) {
  std::erase_if(starts_, [now](Duration each) { return each < now - kStartsWithin; });
  return starts_.size();
}

}  // namespace runnel::fuse
