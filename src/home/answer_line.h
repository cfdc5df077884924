#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"
#include "home/daemon_log.h"
#include "http/message.h"

namespace runnel::home {

// From here on an answer is slow.
inline constexpr Duration kSlowAnswer = Duration::seconds(1);

// Tells the log of an answer that failed for the daemon's sake (500 and more) or was slow. A stream
// takes as long as its reader likes, and is not told. `request`: method and path, without a query,
// since bodies, headers and queries may hold what is secret.
void tell_answer(DaemonLog& log, const std::string& request, const Result<http::Reply>& reply,
                 Duration took);

}  // namespace runnel::home
