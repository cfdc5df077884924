#pragma once

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "async/event_loop.h"
#include "http/endpoint.h"
#include "http/server.h"

namespace runnel::http::testing {

// A server on its own loop and thread, listening on a Unix socket and on TCP loopback, so that a
// test can block. Stopped by its destructor.
class Served {
 public:
  explicit Served(Handler handler, ServerLimits limits = {});
  ~Served();
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  Endpoint unix_endpoint() const { return Endpoint::unix_socket(path()); }
  Endpoint tcp_endpoint() const { return Endpoint::tcp("127.0.0.1", port_); }
  std::string path() const { return (folder_ / "s").string(); }
  // Asked on the server's loop.
  int connections();
  // Waits up to two seconds for that many.
  bool reaches_connections(int count);
  void stop(Duration deadline = Duration::seconds(5));

  // Sends raw bytes on a new connection and returns all that comes back until its end.
  std::string talk(const std::string& bytes);

 private:
  std::filesystem::path folder_;
  std::unique_ptr<async::EventLoop> loop_;
  std::unique_ptr<Server> server_;
  std::uint16_t port_ = 0;
  std::thread thread_;
};

// A blocking raw connection.
class RawClient {
 public:
  explicit RawClient(const Endpoint& endpoint);
  ~RawClient();
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  bool send(const std::string& bytes);  // False when the peer is gone.
  void end_output();
  std::string read_some();    // "" at the end.
  std::string read_to_end();  // Gives up after ten seconds of silence.
  std::string read_until(const std::string& mark);
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace runnel::http::testing
