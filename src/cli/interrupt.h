#pragma once

#include <cstddef>
#include <string_view>

#include "http/blocking_client.h"

namespace runnel::cli {

// How often the person pressed Ctrl-C since watch_interrupts().
int interrupts();
// From here on SIGINT is counted instead of ending the process, and wakes the client's pending
// call. The client outlives the watch; null stops waking anybody.
void watch_interrupts();
void wake_on_interrupt(http::BlockingClient* client);

// The line that a SIGTERM, SIGHUP or SIGPIPE leaves on stderr before it ends the process, as it
// does without one: a client that dies leaves its job running. Signals that are ignored stay so.
// Empty: none. At most kLastWordMax bytes of it are kept.
inline constexpr std::size_t kLastWordMax = 255;
void leave_last_word(std::string_view line);

}  // namespace runnel::cli
