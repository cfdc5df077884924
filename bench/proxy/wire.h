#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "async/unique_fd.h"
#include "base/check.h"
#include "throttle.h"

namespace runnel::bench {

// How the bytes of a body pass: over which links, what is counted, and which byte is damaged.
struct Passing {
  Throttle& all;
  Throttle& one;
  std::uint64_t& counted;
  std::optional<std::uint64_t> flip_at;  // A place in the body.
};

// A connection, with what was read from it and is not passed on yet.
//
// Contract: false is the end of the connection, whoever ended it. Bodies pass in pieces, never
//           whole, and through the kernel alone where nobody has to look at them.
// Threads:  one.
class Wire {
 public:
  explicit Wire(async::UniqueFd socket) : socket_(std::move(socket)) {}

  // Up to the empty line, as it came; false when there is none.
  bool read_head(std::string& head) { return read_until("\r\n\r\n", kHeadMax, head); }

  bool write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno == EINTR) continue;
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // `length` bytes go to the other one, or into nothing.
  bool pass(Wire* to, std::uint64_t length, Passing& how) {
    for (std::uint64_t done = 0; done < length;) {
      const std::uint64_t some = std::min<std::uint64_t>(length - done, kPiece);
      const bool is_looked_at =
          to == nullptr || !ahead_.empty() || (how.flip_at && *how.flip_at < done + some);
      const std::size_t passed =
          is_looked_at ? pass_in_memory(to, some, done, how) : pass_in_kernel(*to, some);
      if (passed == 0) return false;
      done += passed;
      how.counted += passed;
      how.all.pass(passed);
      how.one.pass(passed);
    }
    return true;
  }

  // A body in chunks, to its end.
  bool pass_chunks(Wire* to, Passing& how) {
    std::string line;
    while (read_until("\r\n", kLineMax, line)) {
      std::uint64_t size = 0;
      const auto parsed = std::from_chars(line.data(), line.data() + line.size(), size, 16);
      if (parsed.ec != std::errc() || (to != nullptr && !to->write(line))) return false;
      if (size == 0) return pass_trailer(to);
      if (!pass(to, size + 2, how)) return false;  // A line's end comes behind each.
    }
    return false;
  }

  // Whether the other side has ended it, or has said more, which it may only when it was asked.
  bool is_over() {
    char byte = 0;
    const ssize_t got = ::recv(socket_.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }

  // At its end the other side is told that not everything has arrived.
  void break_off() {
    const linger at_once{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  int descriptor() const { return socket_.get(); }

 private:
  static constexpr std::size_t kPiece = 256 << 10;
  static constexpr std::size_t kReadAtOnce = 64 << 10;
  static constexpr std::size_t kHeadMax = 64 << 10;
  static constexpr std::size_t kLineMax = 4 << 10;

  struct Pipe {
    async::UniqueFd out;
    async::UniqueFd in;
  };

  bool read_until(std::string_view end, std::size_t limit, std::string& text) {
    std::size_t place = 0;
    while ((place = ahead_.find(end)) == std::string::npos) {
      if (ahead_.size() > limit || !read_some(kReadAtOnce)) return false;
    }
    text = ahead_.substr(0, place + end.size());
    ahead_.erase(0, place + end.size());
    return true;
  }
  bool read_some(std::size_t most) {
    const std::size_t before = ahead_.size();
    ahead_.resize(before + most);
    ssize_t got = 0;
    do {
      got = ::recv(socket_.get(), ahead_.data() + before, most, 0);
    } while (got < 0 && errno == EINTR);
    ahead_.resize(before + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    return got > 0;
  }

  // How many bytes have passed; 0: the end.
  std::size_t pass_in_memory(Wire* to, std::uint64_t most, std::uint64_t from, Passing& how) {
    if (ahead_.empty() && !read_some(static_cast<std::size_t>(most))) return 0;
    const std::size_t size = std::min<std::size_t>(ahead_.size(), most);
    if (how.flip_at && *how.flip_at >= from && *how.flip_at < from + size) {
      ahead_[*how.flip_at - from] ^= 0x10;
      how.flip_at.reset();
    }
    if (to != nullptr && !to->write(std::string_view(ahead_).substr(0, size))) return 0;
    ahead_.erase(0, size);
    return size;
  }
  std::size_t pass_in_kernel(Wire& to, std::uint64_t most) {
    if (!pipe_.in.valid()) pipe_ = new_pipe();
    const ssize_t taken = moved(socket_.get(), pipe_.in.get(), static_cast<std::size_t>(most));
    for (ssize_t left = taken; left > 0;) {
      const ssize_t given =
          moved(pipe_.out.get(), to.socket_.get(), static_cast<std::size_t>(left));
      if (given <= 0) return 0;
      left -= given;
    }
    return static_cast<std::size_t>(std::max<ssize_t>(taken, 0));
  }
  static ssize_t moved(int from, int to, std::size_t most) {
    ssize_t bytes = 0;
    do {
      bytes = ::splice(from, nullptr, to, nullptr, most, SPLICE_F_MOVE);
    } while (bytes < 0 && errno == EINTR);
    return bytes;
  }
  static Pipe new_pipe() {
    std::array<int, 2> ends{};
    CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0, "no pipe for a body to pass through");
    ::fcntl(ends[1], F_SETPIPE_SZ, static_cast<int>(kPiece));  // Smaller is slower, not wrong.
    return {async::UniqueFd(ends[0]), async::UniqueFd(ends[1])};
  }
  bool pass_trailer(Wire* to) {
    std::string line;
    while (read_until("\r\n", kLineMax, line)) {
      if (to != nullptr && !to->write(line)) return false;
      if (line == "\r\n") return true;
    }
    return false;
  }

  async::UniqueFd socket_;
  std::string ahead_;
  Pipe pipe_;
};

}  // namespace runnel::bench
