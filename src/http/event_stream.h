#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace runnel::http {

inline constexpr std::string_view kEventStreamType = "text/event-stream";
inline constexpr std::string_view kJsonLinesType = "application/x-ndjson";

// One server-sent event. Empty `event` is the default kind "message".
struct SseEvent {
  std::string id;
  std::string event;
  std::string data;
  friend bool operator==(const SseEvent&, const SseEvent&) = default;
};

std::string encode_sse(const SseEvent& event);
// A line that keeps the connection alive and means nothing.
std::string sse_heartbeat();

// Cuts a stream of bytes into lines; a final line without its end is returned by rest().
//
// Limits: a line longer than kLineMax is kFull, and the stream is useless from there.
class LineSplitter {
 public:
  static constexpr std::size_t kLineMax = std::size_t{16} << 20;

  Result<void> feed(std::string_view bytes);
  std::optional<std::string> next();  // Without its "\n" or "\r\n".
  std::string rest();

 private:
  std::string buffer_;
  std::size_t begin_ = 0;    // The first line not returned yet begins here.
  std::size_t scanned_ = 0;  // No line end lies before.
};

// Cuts a stream of bytes into server-sent events; comments are dropped.
class SseSplitter {
 public:
  Result<void> feed(std::string_view bytes);
  std::optional<SseEvent> next();

 private:
  void take_field(std::string_view line);

  LineSplitter lines_;
  SseEvent pending_;
  bool has_data_ = false;
  std::size_t pending_bytes_ = 0;
};

}  // namespace runnel::http
