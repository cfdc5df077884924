#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "async/async.h"
#include "async/stop_token.h"
#include "base/error.h"
#include "base/result.h"
#include "base/units.h"
#include "json/value.h"

namespace runnel::http {

enum class Method : std::uint8_t { kGet, kHead, kPost, kPut, kPatch, kDelete, kOptions };
std::string_view to_string(Method method);

// Header fields in order; names compare without case.
class Headers {
 public:
  using Field = std::pair<std::string, std::string>;

  void add(std::string name, std::string value);
  void set(std::string_view name, std::string value);  // Replaces all of that name.
  // The first of that name.
  std::optional<std::string_view> find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  const std::vector<Field>& fields() const { return fields_; }

 private:
  std::vector<Field> fields_;
};

// What a client asks. `path` and `query` are percent-decoded; `params` are filled by the router.
struct Request {
  using Pairs = std::vector<std::pair<std::string, std::string>>;

  Method method = Method::kGet;
  std::string path = "/";
  Pairs query;
  Headers headers;
  std::string body;
  Pairs params;
  // Server side, of a Unix socket: the user at its other end.
  std::optional<std::uint32_t> peer_uid;
  // Server side: stops when the server begins to stop; then whoever waits should answer soon. What
  // streams has StreamWriter::gone() as well.
  async::StopToken stop;

  // The first parameter of that name; nullopt when absent, "" for `?follow`.
  std::optional<std::string_view> query_value(std::string_view name) const;
  // A parameter of the matched pattern; CHECKed to exist.
  const std::string& param(std::string_view name) const;
  // Path and query as they stand in a request line.
  std::string target() const;

  static Request get(std::string_view target);
  static Request post(std::string_view target, std::string json_body = {});
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;

  static Response json(const json::Value& value, int status = 200);
  static Response json_text(std::string json, int status = 200);  // Already JSON.
  static Response text(std::string text, int status = 200);
  bool success() const { return status >= 200 && status < 300; }
};

// The socket side of a streamed reply.
//
// Contract: write() returns when the kernel has taken the bytes, so a slow client holds the writer
//           and not memory. kUnavailable or kTimeout when the client is gone or does not read.
//           Empty writes do nothing.
// Lifetime: valid until the body function's coroutine ends.
class StreamWriter {
 public:
  virtual ~StreamWriter() = default;
  virtual Async<void> write(std::string bytes) = 0;
  // Stops when the client is gone or the server stops: pass it to whatever the body waits for.
  virtual async::StopToken gone() const = 0;
};

// A reply whose body is produced over time: SSE, JSON lines, log bytes.
//
// Contract: `body` is called once, after the head was sent; it must not be a capturing lambda that
//           is a coroutine (call one with copies). An error of the body ends the connection without
//           the final chunk: the client sees that it is cut.
struct StreamResponse {
  int status = 200;
  Headers headers;
  std::function<Async<void>(StreamWriter&)> body;

  static StreamResponse of(std::string content_type,
                           std::function<Async<void>(StreamWriter&)> body);
};

using Reply = std::variant<Response, StreamResponse>;
// An error becomes its problem document. Must not be a capturing lambda that is a coroutine.
using Handler = std::function<Async<Reply>(Request)>;

// The status of an error kind: 422 for kInvalid, 404 for kNotFound, ...
int status_of(Errc code);
// The kind of a status, for clients that got no problem document.
Errc errc_of(int status);
std::string_view reason(int status);

// RFC 9457 problem JSON: type, title, status, code, detail and, where known, field, value, hint.
// 429 and 503 carry Retry-After.
Response problem(const Error& error);
Response problem(const Error& error, int status);
// Reads a problem document back into the error it came from; any other failure gets a generic one.
Error error_of(const Response& response);

// "a%20b" -> "a b"; kInvalid for a broken escape or a NUL.
Result<std::string> percent_decode(std::string_view text);
std::string percent_encode(std::string_view text);  // All but unreserved characters.
// Splits and decodes "/path?query".
Result<void> parse_target(std::string_view target, Request& request);

}  // namespace runnel::http
