#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/message.h"

namespace runnel::http::detail {

enum class ConnectionUse : std::uint8_t { kKeepAlive, kClose };
enum class Framing : std::uint8_t { kChunked, kUntilClose };

// Some statuses forbid a body: the client would take it for the next response.
bool may_have_body(int status);

// The head of a response as bytes; a body of `length` follows. Line breaks in fields become spaces,
// so that no handler can be made to write a header of its caller's.
std::string response_head(int status, const Headers& headers, std::size_t length,
                          ConnectionUse use);
std::string stream_head(int status, const Headers& headers, Framing framing, ConnectionUse use);

std::string chunk(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

// Whether a request may be sent again when the connection was found closed: it changes nothing.
bool may_repeat(Method method);

// The most of a response that waits to be parsed.
inline constexpr std::size_t kResponseInputMax = std::size_t{128} << 10;

// A whole request as bytes.
std::string request_bytes(const Request& request, std::string_view host);

}  // namespace runnel::http::detail
