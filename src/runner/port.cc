#include "runner/port.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "async/unique_fd.h"

namespace runnel::runner {
namespace {

// With SO_REUSEADDR, so that connections of an earlier gang which linger do not count.
template <typename Address>
bool can_bind(int family, const Address& address) {
  const async::UniqueFd probe(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!probe.valid()) return true;  // No such family here: nobody can listen in it.
  const int on = 1;
  ::setsockopt(probe.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) ::setsockopt(probe.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  if (::bind(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return true;
  }
  return errno != EADDRINUSE;
}

}  // namespace

bool port_is_free(std::int32_t port) {
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(static_cast<std::uint16_t>(port));
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(static_cast<std::uint16_t>(port));
  return can_bind(AF_INET, four) && can_bind(AF_INET6, six);
}

}  // namespace runnel::runner
