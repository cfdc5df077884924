#include "fuse/holder.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
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
  for (const int each : {SIGCHLD, SIGINT, SIGTERM}) ::sigaddset(&set, each);
  return set;
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
  if (!starts_.empty()) server.argv.push_back(options_.takes_over);
  server_ = TRY(env::spawn_child(server));
  starts_.push_back(env::real_clock().boot());
  return {};
}

Result<bool> Holder::take_event() {
  std::array<pollfd, 2> watched{pollfd{signals_.get(), POLLIN, 0},
                                pollfd{serving_.get(), POLLIN, 0}};
  if (::poll(watched.data(), watched.size(), -1) < 0 && errno != EINTR)
    return errno_error("wait for the server of a mount", errno);
  if (watched[1].revents != 0) take_serving();
  if ((watched[0].revents & POLLIN) != 0) return take_signal();
  return true;
}

void Holder::take_serving() {
  char byte = 0;
  const bool serves = ::read(serving_.get(), &byte, 1) == 1;
  serving_.reset();
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
  const bool at_once = info.ssi_signo == SIGTERM || ++interrupts_ > 1;
  unmount(at_once ? Unmount::kLazy : Unmount::kUnused);
  return true;
}

void Holder::unmount(Unmount how) {
  const Result<void> done = unmount_folder(options_.folder, how);
  if (!done.ok()) {
    options_.say(options_.folder + ": " + done.error().message +
                 "; once more takes it away from its users");
  }
}

Result<bool> Holder::after_server(int status) {
  const bool is_over = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (is_over) return false;
  if (!has_served_) {
    return Error(Errc::kIo, "the mount could not be served").with_value(options_.folder);
  }
  if (!may_start_again()) {
    return Error(Errc::kIo, "what serves the mount has ended " + std::to_string(kStartsMax) +
                                " times in " + to_string(kStartsWithin) +
                                ", and the mount is given up")
        .with_value(options_.folder);
  }
  options_.say("what serves " + options_.folder + " " + end_text(status) + ": started again");
  TRY(start());
  return true;
}

bool Holder::may_start_again() {
  const Duration since = env::real_clock().boot() - kStartsWithin;
  const auto recent = std::count_if(starts_.begin(), starts_.end(),
                                    [since](Duration each) { return each >= since; });
  return recent < kStartsMax;
}

}  // namespace runnel::fuse
