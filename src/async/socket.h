#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "async/unique_fd.h"
#include "base/result.h"

namespace runnel::async {

// Sockets as descriptors: non-blocking, close-on-exec, ready for a Stream, a Listener or poll().
//
// A Unix socket's path may be longer than the 107 bytes the kernel takes: its folder is opened and
// the socket is reached through /proc/self/fd. Only the last part of the path is limited
// (kSocketNameMax).
inline constexpr std::size_t kSocketNameMax = 80;

// A listening Unix socket with mode 0600. A socket file whose server is dead is replaced; one whose
// server lives is kConflict. The file appears only when connections can be accepted.
Result<UniqueFd> listen_unix(const std::string& path);
// kUnavailable when nobody listens there (no file, or a dead server's); kDenied when another user
// than ours or root does.
Result<UniqueFd> connect_unix(const std::string& path);
// The user at the other end of a connected Unix socket, as the kernel noted it when they connected;
// none of another kind of socket.
std::optional<std::uint32_t> peer_user(int descriptor);
// Removes the socket file if it is still the one `listener` is bound to.
void remove_unix_socket(const std::string& path, const UniqueFd& listener);

// `host` is an address, not a name: "127.0.0.1", "::1". Port 0 chooses a free one.
Result<UniqueFd> listen_tcp(const std::string& host, std::uint16_t port);
// The connection may still be in progress: wait for writable, then ask connect_result().
Result<UniqueFd> connect_tcp(const std::string& host, std::uint16_t port);
Result<void> connect_result(int descriptor);
Result<std::uint16_t> local_port(int descriptor);

}  // namespace runnel::async
