#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace runnel::http {

// Where a server listens: a Unix socket path, or an address and port.
struct Endpoint {
  std::string unix_path;  // Not empty: a Unix socket.
  std::string host;
  std::uint16_t port = 0;

  static Endpoint unix_socket(std::string path);
  static Endpoint tcp(std::string host, std::uint16_t port);
  // "unix:/run/runnel.sock", "http://127.0.0.1:8080".
  static Result<Endpoint> parse(std::string_view text);
  std::string to_string() const;
  bool is_unix() const { return !unix_path.empty(); }
};

}  // namespace runnel::http
