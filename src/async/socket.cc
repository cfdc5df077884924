#include "async/socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "env/files.h"
#include "env/process.h"

namespace runnel::async {

namespace {

constexpr int kBacklog = 512;
constexpr mode_t kSocketMode = 0600;

// A Unix address that may go through an open folder, which must stay open while it is used.
struct UnixAddress {
  UniqueFd folder;
  sockaddr_un address{};
  socklen_t length = 0;

  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&address); }
};

void store_path(const std::string& path, UnixAddress& target) {
  CHECK(path.size() < sizeof(target.address.sun_path), "a socket path does not fit its address");
  target.address.sun_family = AF_UNIX;
  std::memcpy(target.address.sun_path, path.c_str(), path.size() + 1);
  target.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
}

Result<UnixAddress> unix_address(const std::string& path) {
  UnixAddress target;
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Error(Errc::kInvalid, "a socket path is empty or holds a NUL").with_value(path);
  }
  if (path.size() < sizeof(target.address.sun_path)) {
    store_path(path, target);
    return target;
  }
  std::size_t slash = path.rfind('/');
  std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  std::string name = slash == std::string::npos ? path : path.substr(slash + 1);
  if (name.size() > kSocketNameMax) {
    return Error(Errc::kInvalid, "the name of a socket file may have at most " +
                                     std::to_string(kSocketNameMax) + " bytes")
        .with_value(name);
  }
  target.folder = UniqueFd(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!target.folder.valid()) return errno_error("cannot open folder " + folder, errno);
  store_path("/proc/self/fd/" + std::to_string(target.folder.get()) + "/" + name, target);
  return target;
}

Result<UniqueFd> new_socket(int family) {
  UniqueFd socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return errno_error("cannot create a socket", errno);
  return socket;
}

// Nobody listens: the file is missing, or is what a dead server left.
bool means_nobody(int errno_value) {
  return errno_value == ENOENT || errno_value == ECONNREFUSED || errno_value == ENOTDIR;
}

constexpr std::string_view kFreshName = ".socket-";

// With the slash; empty for one that is relative.
std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/') + 1); }

// A name in the same folder that nobody else uses: it also tells our socket from another's later.
std::string fresh_name_beside(const std::string& path) {
  static std::atomic<unsigned> count{0};
  return folder_of(path) + std::string(kFreshName) + std::to_string(::getpid()) + "-" +
         std::to_string(++count);
}

// Such a name of a process that was killed before its socket had the one that it was for.
bool is_left(const std::string& name) {
  if (!name.starts_with(kFreshName)) return false;
  pid_t maker = 0;
  const char* const end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kFreshName.size(), end, maker);
  const bool is_one = error == std::errc() && rest != end && *rest == '-' && maker > 0;
  return is_one && !env::process_runs(maker);
}

// What cannot be removed is in nobody's way.
void remove_left_beside(const std::string& path) {
  const std::string folder = folder_of(path);
  const auto names = env::list_directory(folder.empty() ? "." : folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (is_left(name)) ::unlink((folder + name).c_str());
  }
}

// The file that a dead server left may be replaced; anything else at that place may not.
Result<void> check_replaceable(const std::string& path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) != 0) {
    if (errno == ENOENT) return {};
    return errno_error("cannot look at " + path, errno);
  }
  if (!S_ISSOCK(status.st_mode)) {
    return Error(Errc::kConflict, path + " exists and is not a socket")
        .with_hint("move it away or choose another path");
  }
  Result<UniqueFd> live = connect_unix(path);
  if (live.ok()) {
    return Error(Errc::kConflict, "a server listens on " + path + " already")
        .with_hint("stop it first, or use it");
  }
  if (live.error().code == Errc::kUnavailable) return {};
  return std::move(live).error();
}

Result<UniqueFd> bind_and_listen(const std::string& path) {
  UnixAddress address = TRY(unix_address(path));
  UniqueFd socket = TRY(new_socket(AF_UNIX));
  // On Linux the file takes its mode from the socket at bind: it is never wider than this.
  if (::fchmod(socket.get(), kSocketMode) != 0) return errno_error("cannot set a mode", errno);
  if (::bind(socket.get(), address.raw(), address.length) != 0) {
    return errno_error("cannot bind " + path, errno);
  }
  if (::listen(socket.get(), kBacklog) != 0) return errno_error("cannot listen on " + path, errno);
  return socket;
}

struct TcpAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;
  int family() const { return storage.ss_family; }
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Result<TcpAddress> tcp_address(const std::string& host, std::uint16_t port) {
  TcpAddress address;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1) {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&address.storage, &v4, sizeof(v4));
    address.length = sizeof(v4);
    return address;
  }
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&address.storage, &v6, sizeof(v6));
    address.length = sizeof(v6);
    return address;
  }
  return Error(Errc::kInvalid, "'" + host + "' is not an IP address")
      .with_value(host)
      .with_hint("write an address such as 127.0.0.1 or ::1");
}

Result<void> switch_on(int descriptor, int level, int option) {
  int on = 1;
  if (::setsockopt(descriptor, level, option, &on, sizeof(on)) != 0) {
    return errno_error("cannot set a socket option", errno);
  }
  return {};
}

}  // namespace

Result<UniqueFd> listen_unix(const std::string& path) {
  TRY(unix_address(path));  // The name itself must be one that clients can reach.
  TRY(check_replaceable(path));
  remove_left_beside(path);
  // Bound under another name and renamed, so that no client finds a file without a listener.
  std::string fresh = fresh_name_beside(path);
  ::unlink(fresh.c_str());
  UniqueFd socket = TRY(bind_and_listen(fresh));
  if (::rename(fresh.c_str(), path.c_str()) != 0) {
    Error error = errno_error("cannot put the socket at " + path, errno);
    ::unlink(fresh.c_str());
    return error;
  }
  return socket;
}

std::optional<std::uint32_t> peer_user(int descriptor) {
  constexpr auto kNobody = static_cast<uid_t>(-1);  // What TCP sockets tell.
  ucred peer{};
  socklen_t length = sizeof(peer);
  const int told = ::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &length);
  if (told != 0 || peer.uid == kNobody) return std::nullopt;
  return peer.uid;
}

namespace {

// Another user who may write into the folder can put a socket there, and would be told secrets.
Result<void> refuse_stranger(const UniqueFd& socket, const std::string& path) {
  const std::optional<std::uint32_t> peer = peer_user(socket.get());
  if (!peer) return Error(Errc::kDenied, "cannot tell whose socket " + path + " is");
  if (*peer == ::geteuid() || *peer == 0) return {};
  return Error(Errc::kDenied, "another user (uid " + std::to_string(*peer) + ") listens on " +
                                  path + ": nothing is said there")
      .with_value(path)
      .with_hint("choose a folder that only you can write: export RUNNEL_HOME=DIR");
}

}  // namespace

Result<UniqueFd> connect_unix(const std::string& path) {
  Result<UnixAddress> address = unix_address(path);
  if (!address.ok()) {
    if (address.error().code != Errc::kNotFound) return std::move(address).error();
    return Error(Errc::kUnavailable, "nobody listens on " + path);
  }
  UniqueFd socket = TRY(new_socket(AF_UNIX));
  if (::connect(socket.get(), address->raw(), address->length) == 0) {
    TRY(refuse_stranger(socket, path));
    return socket;
  }
  if (means_nobody(errno)) return Error(Errc::kUnavailable, "nobody listens on " + path);
  if (errno == EAGAIN) {
    // The queue of waiting connections is full: someone does listen.
    return Error(Errc::kFull, "the server on " + path + " has too many waiting clients")
        .with_hint("try again in a moment");
  }
  return errno_error("cannot connect to " + path, errno);
}

void remove_unix_socket(const std::string& path, const UniqueFd& listener) {
  sockaddr_un bound{};
  socklen_t length = sizeof(bound);
  CHECK(listener.valid(), "the listener of a socket file is closed");
  // The kernel knows only the name at bind, before the rename: a connection tells whose file it is.
  if (::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&bound), &length) != 0) return;
  Result<UniqueFd> self = connect_unix(path);
  if (!self.ok()) return;
  sockaddr_un peer{};
  socklen_t peer_length = sizeof(peer);
  if (::getpeername(self->get(), reinterpret_cast<sockaddr*>(&peer), &peer_length) != 0) return;
  bool ours = peer_length == length && std::memcmp(&peer, &bound, length) == 0;
  if (ours) ::unlink(path.c_str());
}

Result<UniqueFd> listen_tcp(const std::string& host, std::uint16_t port) {
  TcpAddress address = TRY(tcp_address(host, port));
  UniqueFd socket = TRY(new_socket(address.family()));
  TRY(switch_on(socket.get(), SOL_SOCKET, SO_REUSEADDR));
  TRY(switch_on(socket.get(), IPPROTO_TCP, TCP_NODELAY));  // Accepted connections inherit it.
  if (::bind(socket.get(), address.raw(), address.length) != 0) {
    int reason = errno;
    Error error = errno_error("cannot bind " + host + ":" + std::to_string(port), reason);
    if (reason == EADDRINUSE) error.code = Errc::kConflict;
    return error;
  }
  if (::listen(socket.get(), kBacklog) != 0) return errno_error("cannot listen", errno);
  return socket;
}

Result<UniqueFd> connect_tcp(const std::string& host, std::uint16_t port) {
  TcpAddress address = TRY(tcp_address(host, port));
  UniqueFd socket = TRY(new_socket(address.family()));
  TRY(switch_on(socket.get(), IPPROTO_TCP, TCP_NODELAY));
  if (::connect(socket.get(), address.raw(), address.length) != 0 && errno != EINPROGRESS) {
    return errno_error("cannot connect to " + host + ":" + std::to_string(port), errno);
  }
  return socket;
}

Result<void> connect_result(int descriptor) {
  int error = 0;
  socklen_t length = sizeof(error);
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
  if (error != 0) return errno_error("cannot connect", error);
  return {};
}

Result<std::uint16_t> local_port(int descriptor) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    return errno_error("cannot read a socket's address", errno);
  }
  if (storage.ss_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &storage, sizeof(v6));
    return ntohs(v6.sin6_port);
  }
  CHECK(storage.ss_family == AF_INET, "a port was asked of a socket that has none");
  sockaddr_in v4{};
  std::memcpy(&v4, &storage, sizeof(v4));
  return ntohs(v4.sin_port);
}

}  // namespace runnel::async
