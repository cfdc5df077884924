#pragma once

#include <functional>
#include <memory>
#include <string>

#include "async/async.h"
#include "http/message.h"
#include "http/router.h"

namespace runnel::home {

// Writes down what the daemon answers, a line of JSON each, so that tests hold every answer against
// the schema that /openapi.json has for it.
//
// Contract: a line has method, path, status, content type and body, of a stream one for each piece
//           that is written. Only JSON is written down, of at most kBodyMax bytes, and nothing
//           where the file takes nothing.
// Threads:  the loop's only; it blocks, for tests alone.
// Lifetime: outlives the answers that are under way.
class AnswerRecord {
 public:
  static constexpr std::size_t kBodyMax = std::size_t{1} << 20;

  // Into the file that RUNNEL_ANSWERS names; null without it.
  static std::unique_ptr<AnswerRecord> of_environment();
  explicit AnswerRecord(std::string file) : file_(std::move(file)) {}

  // The router's answer to the request, written down.
  Async<http::Reply> handle(const http::Router* router, http::Request request) const;

 private:
  struct Line;
  class Writer;
  using Body = std::function<Async<void>(http::StreamWriter&)>;
  void write(const Line& line, const std::string& body) const;
  Async<void> write_stream(Body body, Line line, http::StreamWriter& out) const;

  std::string file_;
};

}  // namespace runnel::home
