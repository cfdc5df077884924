#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/units.h"
#include "http/message.h"
#include "model/status.h"

namespace runnel::control {

inline constexpr std::int64_t kPageDefault = 50;
inline constexpr std::int64_t kPageMax = 1'000;
inline constexpr std::int64_t kTailMax = 1'000'000;  // Lines.

// Parameters of a request's query, each with an error that names it. A parameter that is missing or
// empty is the default; one that nobody knows is refused by known_only().
Result<std::int64_t> whole_of(const http::Request& request, std::string_view name,
                              std::int64_t fallback, std::int64_t max);
Result<std::int64_t> limit_of(const http::Request& request);
// "?watch", "?watch=1", "?watch=true".
enum class Flag : std::uint8_t { kOff, kOn };
Result<Flag> flag_of(const http::Request& request, std::string_view name);
Result<std::optional<model::Status>> status_of(const http::Request& request, std::string_view name);
// "10m" before `now`, or "2026-11-21T14:05:28Z".
Result<std::optional<Time>> since_of(const http::Request& request, Time now);
std::string text_of(const http::Request& request, std::string_view name);
// "30s", of at most a week.
Result<Duration> duration_of(const http::Request& request, std::string_view name,
                             Duration fallback);

// Refuses a parameter that is none of these, naming the nearest.
Result<void> known_only(const http::Request& request, std::vector<std::string_view> names);

// Whether the client asks for server-sent events rather than JSON lines.
enum class StreamForm : std::uint8_t { kJsonLines, kServerSentEvents };
StreamForm stream_form_of(const http::Request& request);

}  // namespace runnel::control
