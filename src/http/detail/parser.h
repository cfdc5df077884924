#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "http/message.h"

namespace runnel::http::detail {

struct ParserLimits {
  Bytes header_max = Bytes::kibi(32);
  Bytes body_max = Bytes::mebi(16);
};

// Requests out of bytes, without I/O.
//
// Contract: feed() takes what belongs to the current request and returns how many bytes it took;
//           what it leaves must be offered again with more behind it. After done(), take() gives
//           the request and begins the next; it fails for a target that cannot be decoded. An error
//           is final; failure_status() is its HTTP status.
// Why:      Beast's parser behind our own types: it is fuzzed and compiled in one file.
class RequestParser {
 public:
  explicit RequestParser(ParserLimits limits);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  Result<std::size_t> feed(std::string_view bytes);
  bool started() const;  // Some byte of the current request has been taken.
  bool head_done() const;
  bool done() const;
  bool keep_alive() const;        // Once head_done().
  bool expects_continue() const;  // Once head_done(): the client waits for "100 Continue".
  bool is_http_1_0() const;       // Once head_done().
  int failure_status() const { return failure_status_; }
  Result<Request> take();

 private:
  class Reader;
  void restart();
  Error reject(int status, std::string why);

  const ParserLimits limits_;
  std::unique_ptr<Reader> reader_;
  int failure_status_ = 0;
};

// Responses out of bytes, without I/O; the body comes in pieces through take_body().
//
// Contract: as RequestParser. begin() starts the next response; interim ones (1xx) are skipped.
//           eof() says that no more bytes come, which ends some bodies and breaks others.
class ResponseParser {
 public:
  ResponseParser();
  ~ResponseParser();
  ResponseParser(const ResponseParser&) = delete;
  ResponseParser& operator=(const ResponseParser&) = delete;

  void begin(Method requested);
  Result<std::size_t> feed(std::string_view bytes);
  Result<void> eof();
  bool started() const;
  bool head_done() const;
  bool done() const;
  bool keep_alive() const;  // Once head_done().
  int status() const;
  const Headers& headers() const;
  std::string take_body();  // What arrived since the last call.

 private:
  class Reader;
  static constexpr Bytes kHeaderMax = Bytes::kibi(64);

  std::unique_ptr<Reader> reader_;
  Method requested_ = Method::kGet;
};

}  // namespace runnel::http::detail
