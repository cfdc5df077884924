#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "cli/repeats.h"
#include "cli/session.h"
#include "http/event_stream.h"
#include "json/value.h"

namespace runnel::cli {

// JSON lines of the API as they come, over a connection that is made again where it broke.
//
// Contract: next() gives one document, or nothing when `patience` passed without one, or ended() is
//           true. After a break it goes on after the last cursor (`cursor_key` of the documents),
//           so that no line is lost or told twice. A daemon that was stopped meanwhile is told of.
class LineStream {
 public:
  // A daemon that dies so often in a row will not live the next time either.
  static constexpr int kBreaksMax = 20;

  // `after`: where to begin; empty: at the beginning.
  LineStream(Session& session, std::string target, std::string cursor_key, std::string cursor_flag,
             std::string after = "");
  ~LineStream();

  Result<std::optional<json::Value>> next(Duration patience);
  // One that has come already; nothing when the next call of next() would wait.
  Result<std::optional<json::Value>> ready();
  bool ended() const { return ended_; }

 private:
  Result<void> open();
  Result<void> broke();
  std::string target_now() const;
  Result<std::optional<json::Value>> document_of(const std::string& line);
  void look_at_silence(bool heard);

  Session& session_;
  std::string target_;
  std::string cursor_key_;
  std::string cursor_flag_;
  std::string cursor_;
  Repeats repeats_;
  std::set<std::string> damage_;  // Told once, however often the stream breaks.
  std::unique_ptr<http::BlockingClient> client_;
  std::optional<http::BlockingClient::BodyStream> body_;
  http::LineSplitter lines_;
  Duration heard_at_;  // Or looked at since; by the boot clock.
  int breaks_ = 0;     // In a row, without a document in between.
  bool ended_ = false;
};

}  // namespace runnel::cli
