#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"
#include "http/endpoint.h"
#include "http/message.h"

namespace runnel::http {

struct ClientOptions {
  Duration connect_max = Duration::seconds(5);
  // No byte for so long: kTimeout. Zero waits for ever; a watch on a quiet job should.
  Duration silence_max = Duration::seconds(60);
  Bytes body_max = Bytes::mebi(64);  // For an unstreamed response; more is kFull.
  // A BlockingClient calls it each time it has waited for so long without a byte, and waits on.
  Duration quiet_max = Duration::seconds(3);
  std::function<void()> on_quiet = {};
};

// A client without a loop or a thread, for command lines: connects on first use, keeps the
// connection, and starts in microseconds.
//
// Contract: request() returns any response that arrived, of whatever status; errors are those of
//           the connection: kUnavailable when nobody listens or the peer went away, kTimeout,
//           kInvalid when the peer does not speak HTTP. A GET on a kept connection that the server
//           had closed is repeated once on a new one. One request or stream at a time.
// Threads:  one at a time. cancel() from any thread or signal handler.
class BlockingClient {
 public:
  class BodyStream;

  explicit BlockingClient(Endpoint endpoint, ClientOptions options = {});
  ~BlockingClient();
  BlockingClient(BlockingClient&&) noexcept;
  BlockingClient& operator=(BlockingClient&&) noexcept;

  Result<Response> request(const Request& request);
  // The head at once, the body piece by piece. The client outlives the stream.
  Result<BodyStream> stream(const Request& request);
  // A pending or later call returns kCancelled; for Ctrl-C. Async-signal-safe.
  void cancel();

  struct Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

// The body of one response as it arrives.
class BlockingClient::BodyStream {
 public:
  ~BodyStream();  // Closes the connection if the body was not read to its end.
  BodyStream(BodyStream&&) noexcept;
  BodyStream& operator=(BodyStream&&) = delete;

  int status() const;
  const Headers& headers() const;
  // Some bytes; nullopt at the end; kUnavailable when the connection broke before it.
  Result<std::optional<std::string>> next_chunk();
  // The same, but nullopt-in-value after `patience` without a byte: "" means nothing yet.
  Result<std::optional<std::string>> next_chunk_for(Duration patience);

 private:
  friend class BlockingClient;
  explicit BodyStream(BlockingClient::Impl& client);

  BlockingClient::Impl* client_;  // Null after a move.
};

}  // namespace runnel::http
