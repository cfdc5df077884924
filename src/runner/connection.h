#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/unique_fd.h"
#include "base/result.h"
#include "runner/message.h"

namespace runnel::runner {

// One end of the socket between agent and runner: frames in, frames out, never blocking.
//
// Contract: any error or end of the peer is an Error from receive() or flush(); the owner then
//           drops the connection.
// Threads:  none of its own.
// Limits:   reads at most kReadMax per receive(), so that a fast peer does not starve the rest.
//           What the peer does not read collects: congested() asks the owner to hold back.
class Connection {
 public:
  static constexpr std::size_t kReadMax = 4 << 20;
  static constexpr std::size_t kCongestedAt = 1 << 20;

  explicit Connection(async::UniqueFd socket) : socket_(std::move(socket)) {}

  int descriptor() const { return socket_.get(); }
  // Appends the whole messages that have arrived.
  Result<void> receive(std::vector<Message>& messages);
  void send(const Message& message) { encode_frame(message, out_); }
  Result<void> flush();
  bool wants_to_write() const { return !out_.empty(); }
  bool congested() const { return out_.size() >= kCongestedAt; }

 private:
  Result<void> take_frames(std::vector<Message>& messages);

  async::UniqueFd socket_;
  std::string in_;
  std::string out_;
};

}  // namespace runnel::runner
