#include "runner/connection.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace runnel::runner {

Result<void> Connection::receive(std::vector<Message>& messages) {
  char buffer[64 * 1024];
  std::size_t total = 0;
  while (total < kReadMax) {
    const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (got < 0) return errno_error("read from the peer", errno);
    if (got == 0) {
      TRY(take_frames(messages));
      return Error(Errc::kUnavailable, "the peer has closed the connection");
    }
    in_.append(buffer, static_cast<std::size_t>(got));
    total += static_cast<std::size_t>(got);
    // A short read has emptied the socket: no need to be told so.
    if (static_cast<std::size_t>(got) < sizeof buffer) break;
  }
  return take_frames(messages);
}

Result<void> Connection::take_frames(std::vector<Message>& messages) {
  std::size_t taken = 0;
  while (true) {
    const std::string_view rest = std::string_view(in_).substr(taken);
    const std::size_t size = TRY(frame_size(rest));
    if (size == 0) break;
    messages.push_back(TRY(decode_body(rest.substr(kFrameHeaderBytes, size - kFrameHeaderBytes))));
    taken += size;
  }
  in_.erase(0, taken);
  return {};
}

Result<void> Connection::flush() {
  std::size_t sent = 0;
  while (sent < out_.size()) {
    const ssize_t wrote =
        ::send(socket_.get(), out_.data() + sent, out_.size() - sent, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (wrote < 0) return errno_error("write to the peer", errno);
    sent += static_cast<std::size_t>(wrote);
  }
  out_.erase(0, sent);
  return {};
}

}  // namespace runnel::runner
