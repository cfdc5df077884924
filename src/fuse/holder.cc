#include "fuse/holder.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <utility>

#include "async/socket.h"
#include "env/clock.h"

namespace runnel::fuse {

using volume_server::HandedMount;
using volume_server::MountNews;
using volume_server::receive_news;
using volume_server::send_alone;
using volume_server::send_mount;

namespace {

constexpr int kConnectAgainMillis = 10;

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
  for (const int each : {SIGHUP, SIGINT, SIGTERM}) ::sigaddset(&set, each);
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

// A connection is waited on by poll(), and read when there is a line.
Result<void> make_blocking(const async::UniqueFd& socket) {
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) {
    return errno_error("set up the connection to the server of mounts", errno);
  }
  return {};
}

}  // namespace

Result<void> Holder::run() {
  TRY(open());
  TRY(hand_over());
  while (true) {
    const Result<bool> goes_on = take_event();
    if (!goes_on.ok() && has_served_) mount_->leave_dead();
    if (!TRY(Result<bool>(goes_on))) return {};
  }
}

Result<void> Holder::open() {
  const sigset_t set = taken_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  signals_ = async::UniqueFd(::signalfd(-1, &set, SFD_CLOEXEC));
  if (!signals_.valid()) return errno_error("make a signal descriptor", errno);
  begun_at_ = env::real_clock().boot();
  const auto access =
      options_.request.log.empty() ? MountPoint::Access::kRead : MountPoint::Access::kWrite;
  mount_ = TRY(MountPoint::create(options_.request.folder, options_.source, access));
  first_message_ = TRY(file_of(TRY(mount_->first_message())));
  return {};
}

// A server that ends just now, as it was idle, is as good as none.
Result<void> Holder::hand_over() {
  start_at_.reset();
  server_ = TRY(connect());
  HandedMount handed;
  handed.request = options_.request;
  if (has_to_publish()) {
    handed.request.is_unmounted = true;
    (void)send_alone(server_.get(), handed.request);
    handed_at_ = env::real_clock().boot();
    return {};
  }
  handed.request.takes_over = has_served_;
  handed.request.hears_errors = static_cast<bool>(options_.reader_failed);
  handed.connection = async::UniqueFd(::fcntl(mount_->descriptor(), F_DUPFD_CLOEXEC, 0));
  handed.first_message = TRY(first_message_.duplicate());
  if (!handed.connection.valid()) return errno_error("hand over a mount", errno);
  (void)send_mount(server_.get(), handed);
  handed_at_ = env::real_clock().boot();
  return {};
}

// A machine that cannot start a server now may be able to later.
Result<void> Holder::hand_over_again() {
  Result<void> handed = hand_over();
  const Duration now = env::real_clock().boot();
  if (handed.ok() || !has_served_ || now - died_at_ >= options_.serves_within) return handed;
  start_at_ = now + kPause;
  return {};
}

Result<async::UniqueFd> Holder::connect() {
  // Once it was served, signals are looked at between two tries.
  const Duration until = env::real_clock().boot() + (has_served_ ? kPause : kServerStartsWithin);
  Duration start_again;
  while (true) {
    Result<async::UniqueFd> connected = async::connect_unix(options_.socket);
    const Duration now = env::real_clock().boot();
    if (connected.ok()) TRY(make_blocking(*connected));
    if (connected.ok() || connected.error().code != Errc::kUnavailable) return connected;
    if (now >= until) {
      return Error(Errc::kUnavailable, "the server of mounts does not start")
          .with_value(options_.socket)
          .with_hint("see " + options_.server.log_file);
    }
    if (now >= start_again) {
      TRY(env::spawn_detached(options_.server));
      start_again = now + kPause;
    }
    ::poll(nullptr, 0, kConnectAgainMillis);
  }
}

std::optional<Duration> Holder::silent_at() const {
  if (!server_.valid() || serves_) return std::nullopt;
  return has_served_ ? died_at_ + options_.serves_within : handed_at_ + kFirstServesWithin;
}

int Holder::patience() const {
  std::optional<Duration> most;
  if (options_.look) most = kLookEvery;
  const Duration now = env::real_clock().boot();
  for (const std::optional<Duration>& at : {start_at_, silent_at()}) {
    if (!at) continue;
    const Duration left = std::max(*at - now, Duration());
    most = most ? std::min(*most, left) : left;
  }
  return most ? static_cast<int>(most->millis()) : -1;
}

Result<bool> Holder::take_event() {
  std::array<pollfd, 2> watched{pollfd{signals_.get(), POLLIN, 0},
                                pollfd{server_.get(), POLLIN, 0}};
  const int happened = ::poll(watched.data(), watched.size(), patience());
  if (happened < 0 && errno != EINTR) {
    return errno_error("wait for the server of a mount", errno);
  }
  if (happened == 0 && options_.look && has_served_) options_.look();
  if (happened > 0 && watched[0].revents != 0) TRY(take_signal());
  if (happened > 0 && watched[1].revents != 0) return take_news();
  const Duration now = env::real_clock().boot();
  if (silent_at() && now >= *silent_at()) {
    server_.reset();
    return after_server("the server of mounts does not answer", false);
  }
  const bool is_time = start_at_ && now >= *start_at_;
  if (is_time && mount_->is_gone() && !has_to_publish()) return false;
  if (is_time) TRY(hand_over_again());
  return true;
}

Result<bool> Holder::take_news() {
  const std::optional<MountNews> news = receive_news(server_.get());
  using Kind = MountNews::Kind;
  if (news && news->kind == Kind::kServing) {
    take_serving();
    return true;
  }
  if (news && (news->kind == Kind::kUnread || news->kind == Kind::kDamaged)) {
    if (options_.reader_failed && mount_->is_on_top()) options_.reader_failed(*news);
    return true;
  }
  server_.reset();
  if (news && news->kind == Kind::kEnded) {
    if (news->why.empty()) return false;
    return Error(Errc::kConflict, news->why).with_value(options_.request.folder);
  }
  return after_server(news ? news->why : "what served it has died", news.has_value());
}

void Holder::take_serving() {
  serves_ = true;
  if (!mount_->is_gone()) starts_.push_back(env::real_clock().boot());
  if (std::exchange(has_served_, true)) return;
  if (options_.mounted) options_.mounted();
}

// A mount that was written to, and is no more, before its server has said that all is published.
bool Holder::has_to_publish() const {
  return has_served_ && !options_.request.log.empty() && mount_->is_gone();
}

Error Holder::not_published(const std::string& why) const {
  return Error(Errc::kIo,
               "what was written in " + options_.request.folder + " is not published: " + why)
      .with_value(options_.request.folder)
      .with_hint("it is kept, and published by the next: runnel volume mount --mode rw " +
                 options_.request.volume);
}

Result<void> Holder::take_signal() {
  signalfd_siginfo info{};
  if (::read(signals_.get(), &info, sizeof info) != sizeof info) {
    return errno_error("read a signal", errno);
  }
  if (mount_->is_gone()) return not_published("interrupted");
  const bool at_once = info.ssi_signo != SIGINT || ++interrupts_ > 1;
  unmount(at_once ? Unmount::kLazy : Unmount::kUnused);
  return {};
}

void Holder::unmount(Unmount how) {
  if (!mount_->is_on_top()) return;  // Out of sight already; it ends with its users.
  const Result<void> done = unmount_folder(options_.request.folder, how);
  if (!done.ok()) {
    options_.say(options_.request.folder + ": " + done.error().message +
                 "; once more takes it away from its users");
  }
}

Result<bool> Holder::after_server(const std::string& what, bool has_said_why) {
  const bool is_gone = mount_->is_gone();
  if (is_gone && !has_to_publish()) return false;
  const Duration now = env::real_clock().boot();
  const std::string& folder = options_.request.folder;
  if (serves_ && !has_ended_) died_at_ = now;
  has_ended_ = is_gone;
  if (!has_served_ && (has_said_why || now - begun_at_ > kServerStartsWithin)) {
    return Error(Errc::kIo, "the mount cannot be served: " + what)
        .with_value(folder)
        .with_hint("see " + options_.server.log_file);
  }
  const bool is_in_time = !has_served_ || now - died_at_ < options_.serves_within;
  const bool may_go_on = !has_served_ || is_gone || can_ask_again();
  const bool is_tried = may_go_on && is_in_time && starts_within(now) < kStartsMax;
  if (is_gone && !is_tried) return not_published(what);
  if (!is_tried) {
    return Error(Errc::kIo, folder + ": " + what + ", and the mount is given up")
        .with_value(folder)
        .with_hint("runnel volume umount " + folder);
  }
  if (has_said_why || serves_) options_.say(folder + ": " + what + ": it is served again");
  start_at_ = now + (has_said_why ? kPause : kDeathPause);
  serves_ = false;
  return true;
}

std::size_t Holder::starts_within(Duration now) {
  std::erase_if(starts_, [now](Duration each) { return each < now - kStartsWithin; });
  return starts_.size();
}

}  // namespace runnel::fuse
