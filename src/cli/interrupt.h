#pragma once

#include "http/blocking_client.h"

namespace runnel::cli {

// How often the person pressed Ctrl-C (or TERM came) since watch_interrupts().
int interrupts();
// From here on SIGINT and SIGTERM are counted instead of ending the process, and wake the client's
// pending call. The client outlives the watch; null stops waking anybody.
void watch_interrupts();
void wake_on_interrupt(http::BlockingClient* client);

}  // namespace runnel::cli
