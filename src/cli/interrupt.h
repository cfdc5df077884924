#pragma once

#include "http/blocking_client.h"

namespace runnel::cli {

// How often the person pressed Ctrl-C since watch_interrupts().
int interrupts();
// From here on SIGINT is counted instead of ending the process, and wakes the client's pending
// call. The client outlives the watch; null stops waking anybody. SIGTERM still ends the process: a
// client that dies leaves its job running.
void watch_interrupts();
void wake_on_interrupt(http::BlockingClient* client);

}  // namespace runnel::cli
