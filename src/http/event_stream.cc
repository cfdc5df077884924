#include "http/event_stream.h"

#include <utility>

#include "base/check.h"

namespace runnel::http {

namespace {

std::string without_line_breaks(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c == '\n' || c == '\r') c = ' ';
  }
  return out;
}

Error too_long(std::string_view what) {
  return Error(Errc::kFull, std::string(what) + " is longer than " +
                                std::to_string(LineSplitter::kLineMax >> 20) + " MiB");
}

}  // namespace

std::string encode_sse(const SseEvent& event) {
  std::string out;
  if (!event.id.empty()) out += "id: " + without_line_breaks(event.id) + "\n";
  if (!event.event.empty()) out += "event: " + without_line_breaks(event.event) + "\n";
  std::string_view rest = event.data;
  while (true) {
    std::size_t end = rest.find('\n');
    out.append("data: ").append(rest.substr(0, end)).append("\n");
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  out += "\n";
  return out;
}

std::string sse_heartbeat() { return ":\n\n"; }

Result<void> LineSplitter::feed(std::string_view bytes) {
  bool too_much = buffer_.size() - begin_ + bytes.size() > kLineMax &&
                  buffer_.find('\n', scanned_) == std::string::npos &&
                  bytes.find('\n') == std::string_view::npos;
  if (too_much) return too_long("a line");
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    scanned_ -= std::exchange(begin_, 0);
  }
  buffer_.append(bytes);
  return {};
}

std::optional<std::string> LineSplitter::next() {
  CHECK(scanned_ >= begin_, "the scan lags behind the lines");
  std::size_t end = buffer_.find('\n', scanned_);
  if (end == std::string::npos) {
    scanned_ = buffer_.size();
    return std::nullopt;
  }
  std::size_t length = end - begin_;
  if (length > 0 && buffer_[end - 1] == '\r') --length;
  std::string line = buffer_.substr(begin_, length);
  begin_ = scanned_ = end + 1;
  return line;
}

std::string LineSplitter::rest() {
  std::string left = buffer_.substr(begin_);
  buffer_.clear();
  begin_ = scanned_ = 0;
  return left;
}

Result<void> SseSplitter::feed(std::string_view bytes) {
  if (pending_bytes_ > LineSplitter::kLineMax) return too_long("an event");
  return lines_.feed(bytes);
}

void SseSplitter::take_field(std::string_view line) {
  std::size_t colon = line.find(':');
  std::string_view name = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  pending_bytes_ += line.size();
  if (name == "id") pending_.id = value;
  if (name == "event") pending_.event = value;
  if (name != "data") return;
  if (std::exchange(has_data_, true)) pending_.data += '\n';
  pending_.data += value;
}

std::optional<SseEvent> SseSplitter::next() {
  while (std::optional<std::string> line = lines_.next()) {
    if (!line->empty()) {
      take_field(*line);
      continue;
    }
    SseEvent event = std::exchange(pending_, {});
    pending_bytes_ = 0;
    if (std::exchange(has_data_, false)) return event;
  }
  return std::nullopt;
}

}  // namespace runnel::http
