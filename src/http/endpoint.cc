#include "http/endpoint.h"

#include <charconv>
#include <utility>

namespace runnel::http {

Endpoint Endpoint::unix_socket(std::string path) { return Endpoint{std::move(path), {}, 0}; }

Endpoint Endpoint::tcp(std::string host, std::uint16_t port) {
  return Endpoint{{}, std::move(host), port};
}

Result<Endpoint> Endpoint::parse(std::string_view text) {
  auto refuse = [text] {
    return Error(Errc::kInvalid, "this is not the address of a server")
        .with_value(std::string(text))
        .with_hint("write unix:/path/to/socket or http://127.0.0.1:8080");
  };
  if (text.starts_with("unix:")) {
    std::string_view path = text.substr(5);
    if (path.empty()) return refuse();
    return unix_socket(std::string(path));
  }
  if (!text.starts_with("http://")) return refuse();
  std::string_view rest = text.substr(7);
  if (rest.ends_with('/')) rest.remove_suffix(1);
  std::size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return refuse();
  std::string_view host = rest.substr(0, colon);
  std::string_view digits = rest.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  std::uint16_t port = 0;
  std::from_chars_result read = std::from_chars(digits.begin(), digits.end(), port);
  if (read.ec != std::errc() || read.ptr != digits.end() || port == 0) return refuse();
  return tcp(std::string(host), port);
}

std::string Endpoint::to_string() const {
  if (is_unix()) return "unix:" + unix_path;
  bool v6 = host.find(':') != std::string::npos;
  return "http://" + (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
}

}  // namespace runnel::http
