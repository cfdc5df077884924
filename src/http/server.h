#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "async/async.h"
#include "async/event_loop.h"
#include "base/result.h"
#include "base/units.h"
#include "http/message.h"

namespace runnel::http {

// Every limit of a server, with what happens at it.
struct ServerLimits {
  Bytes body_max = Bytes::mebi(16);          // 413, then the connection closes.
  Bytes header_max = Bytes::kibi(32);        // 431, then the connection closes.
  int connections_max = 1024;                // Further ones wait in the kernel's backlog.
  Duration idle_max = Duration::minutes(2);  // Between requests: closed without a word.
  Duration request_max =
      Duration::seconds(30);  // From the first byte of a request to its last: 408.
  Duration write_stall_max = Duration::seconds(60);  // The peer takes no byte: dropped.
};

// HTTP/1.1 on Unix sockets and TCP: one handler per request, keep-alive, streamed replies.
//
// Contract: requests of a connection are answered in order, one at a time. stop() stops listening,
//           closes idle connections, stops the tokens of streams, lets running handlers finish
//           until the deadline, then cuts connections and waits for the handlers.
// Threads:  the loop's only.
// Lifetime: stop() is awaited before destruction (CHECKed); handlers and what they use outlive it.
// Why:      Beast parses, our loop does the I/O: a request costs two system calls and no timer.
class Server {
 public:
  Server(async::EventLoop& loop, Handler handler, ServerLimits limits = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // kConflict when a live server has this path. Mode 0600.
  Result<void> listen_unix(const std::string& path);
  // The port that was bound (0 chooses one). `address` is loopback unless the caller means it.
  Result<std::uint16_t> listen_tcp(const std::string& address, std::uint16_t port);

  int connections() const;
  // Called on the loop whenever connections() has changed.
  void on_connections_changed(std::function<void(int)> observer);

  // Connections are cut at the deadline. A socket's file that cannot be removed by then, as over a
  // dead mount, is left to the next server.
  Async<void> stop(Duration deadline);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace runnel::http
