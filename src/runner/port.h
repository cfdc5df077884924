#pragma once

#include <cstdint>

namespace runnel::runner {

// Nobody on this machine listens on the TCP port, in IPv4 or IPv6.
bool port_is_free(std::int32_t port);

}  // namespace runnel::runner
