#include "cli/log_stream.h"

#include <utility>

#include "cli/interrupt.h"
#include "cli/target.h"
#include "env/clock.h"

namespace runnel::cli {

LineStream::LineStream(Session& session, std::string target, std::string cursor_key,
                       std::string cursor_flag, std::string after)
    : session_(session),
      target_(std::move(target)),
      cursor_key_(std::move(cursor_key)),
      cursor_flag_(std::move(cursor_flag)),
      cursor_(std::move(after)) {}

LineStream::~LineStream() { wake_on_interrupt(nullptr); }

std::string LineStream::target_now() const {
  return cursor_.empty() ? target_ : with_query(target_, cursor_flag_, cursor_);
}

Result<void> LineStream::open() {
  body_.reset();
  lines_ = http::LineSplitter();
  repeats_.broke();
  wake_on_interrupt(nullptr);  // Or a signal would wake a client that is no more.
  client_ = TRY(session_.stream_client());
  wake_on_interrupt(client_.get());
  http::Request request = http::Request::get(target_now());
  request.headers.set("Accept", std::string(http::kJsonLinesType));
  auto stream = client_->stream(request);
  // It went after it had answered the knock.
  if (!stream.ok() && stream.error().code == Errc::kUnavailable) return broke();
  if (!stream.ok()) return stream.error();
  if (stream->status() < 200 || stream->status() >= 300) {
    http::Response response;
    response.status = stream->status();
    for (auto chunk = stream->next_chunk(); chunk.ok() && chunk->has_value();
         chunk = stream->next_chunk()) {
      response.body += **chunk;
    }
    return http::error_of(response);
  }
  body_.emplace(std::move(*stream));
  heard_at_ = env::real_clock().boot();
  return {};
}

// A job may have nothing to say for long: only a daemon that was stopped is told of.
void LineStream::look_at_silence(bool heard) {
  const Duration now = env::real_clock().boot();
  if (heard) session_.heard();
  if (!heard && now - heard_at_ < Session::kQuietMax) return;
  if (!heard) session_.heard_nothing();
  heard_at_ = now;
}

// The daemon is gone: the next call finds or starts another.
Result<void> LineStream::broke() {
  body_.reset();
  if (++breaks_ < kBreaksMax) return {};
  return Error(Errc::kUnavailable, "the home daemon ended " + std::to_string(kBreaksMax) +
                                       " times in a row while it was asked")
      .with_hint("see " + session_.home().daemon_log());
}

// Nothing for one that was told before.
Result<std::optional<json::Value>> LineStream::document_of(const std::string& line) {
  json::Value document = TRY(json::parse(line));
  breaks_ = 0;
  const json::Value* cursor = document.find(cursor_key_);
  if (cursor != nullptr) cursor_ = cursor->is_text() ? cursor->as_text() : cursor->dump();
  if (document.find("damage") != nullptr) {
    const bool is_new = damage_.insert(document.dump()).second;
    return is_new ? std::optional<json::Value>(std::move(document)) : std::nullopt;
  }
  if (repeats_.told_before(document, cursor != nullptr)) return std::optional<json::Value>();
  return std::optional<json::Value>(std::move(document));
}

Result<std::optional<json::Value>> LineStream::ready() {
  while (const std::optional<std::string> line = lines_.next()) {
    if (line->empty()) continue;
    std::optional<json::Value> document = TRY(document_of(*line));
    if (document.has_value()) return document;
  }
  return std::optional<json::Value>();
}

Result<std::optional<json::Value>> LineStream::next(Duration patience) {
  if (!body_.has_value()) TRY(open());
  if (!body_.has_value()) return std::optional<json::Value>();
  std::optional<json::Value> line = TRY(ready());
  if (line.has_value()) return line;
  auto chunk = body_->next_chunk_for(patience);
  if (!chunk.ok() && chunk.error().code == Errc::kCancelled) {
    body_.reset();  // Ctrl-C woke us: whoever asks goes on with a new connection, or does not.
    return std::optional<json::Value>();
  }
  if (!chunk.ok()) {
    if (chunk.error().code != Errc::kUnavailable) return chunk.error();
    TRY(broke());
    return std::optional<json::Value>();
  }
  if (!chunk->has_value()) {
    ended_ = true;
    return std::optional<json::Value>();
  }
  look_at_silence(!(*chunk)->empty());
  TRY(lines_.feed(**chunk));
  return ready();
}

}  // namespace runnel::cli
