#include "http/detail/parser.h"

#include <limits>
#include <optional>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/verb.hpp>

#include "base/check.h"

namespace runnel::http::detail {

namespace beast = boost::beast::http;
using ErrorCode = boost::system::error_code;
using Text = boost::beast::string_view;

namespace {

std::optional<Method> method_of(beast::verb verb) {
  switch (verb) {
    case beast::verb::get: return Method::kGet;
    case beast::verb::head: return Method::kHead;
    case beast::verb::post: return Method::kPost;
    case beast::verb::put: return Method::kPut;
    case beast::verb::patch: return Method::kPatch;
    case beast::verb::delete_: return Method::kDelete;
    case beast::verb::options: return Method::kOptions;
    default: return std::nullopt;
  }
}

std::string owned(Text text) { return std::string(text.data(), text.size()); }

std::uint32_t limit_of(Bytes bytes) {
  CHECK(bytes.count() > 0, "a header limit is positive");
  CHECK(bytes.count() <= std::numeric_limits<std::uint32_t>::max(), "a header limit fits 32 bits");
  return static_cast<std::uint32_t>(bytes.count());
}

// What requests and responses share: fields and body go to plain strings.
template <bool IsRequest>
class ReaderBase : public beast::basic_parser<IsRequest> {
 public:
  Headers headers;
  std::string body;
  int version = 11;

 private:
  void on_field_impl(beast::field, Text name, Text value, ErrorCode&) override {
    headers.add(owned(name), owned(value));
  }
  void on_header_impl(ErrorCode&) override {}
  void on_body_init_impl(boost::optional<std::uint64_t> const&, ErrorCode&) override {}
  std::size_t on_body_impl(Text bytes, ErrorCode&) override { return append(bytes); }
  void on_chunk_header_impl(std::uint64_t, Text, ErrorCode&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, Text bytes, ErrorCode&) override {
    return append(bytes);
  }
  void on_finish_impl(ErrorCode&) override {}

  std::size_t append(Text bytes) {
    body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
};

// "more bytes are needed" is no error of feed().
template <typename Parser>
std::size_t put(Parser& parser, std::string_view bytes, ErrorCode& error) {
  std::size_t taken = parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error);
  if (error == beast::error::need_more) error = {};
  return taken;
}

}  // namespace

class RequestParser::Reader : public ReaderBase<true> {
 public:
  std::optional<Method> method;
  std::string target;

 private:
  void on_request_impl(beast::verb verb, Text, Text text, int http_version, ErrorCode&) override {
    method = method_of(verb);
    target = owned(text);
    version = http_version;
  }
  void on_response_impl(int, Text, int, ErrorCode&) override {
    CHECK(false, "a request parser met a response");
  }
};

RequestParser::RequestParser(ParserLimits limits) : limits_(limits) { restart(); }

void RequestParser::restart() {
  reader_ = std::make_unique<Reader>();
  reader_->eager(true);
  reader_->header_limit(limit_of(limits_.header_max));
  reader_->body_limit(static_cast<std::uint64_t>(limits_.body_max.count()));
}

RequestParser::~RequestParser() = default;

namespace {

// The first line ends with a line feed alone, which the reader takes for a part of the version.
bool ends_without_return(std::string_view head) {
  const std::size_t end = head.find('\n');
  return end != head.npos && !head.substr(0, end).ends_with('\r');
}

}  // namespace

Error RequestParser::reject(int status, std::string why) {
  failure_status_ = status;
  return Error(Errc::kInvalid, std::move(why));
}

Result<std::size_t> RequestParser::feed(std::string_view bytes) {
  CHECK(failure_status_ == 0, "a parser is fed after its failure");
  CHECK(!done(), "a parser is fed before its request was taken");
  // Some clients end a body with an empty line that is not counted (RFC 9112, 2.2).
  if (!started() && bytes.starts_with("\r\n")) return std::size_t{2};
  if (!started() && bytes == "\r") return std::size_t{0};  // Its other half is on the way.
  ErrorCode error;
  std::size_t taken = put(*reader_, bytes, error);
  if (error == beast::error::body_limit) {
    return reject(413, "the body is larger than " + to_string(limits_.body_max));
  }
  if (error == beast::error::header_limit) {
    return reject(431, "the header is larger than " + to_string(limits_.header_max));
  }
  if (error == beast::error::bad_version && ends_without_return(bytes)) {
    return reject(400, "a line of the header does not end with CR LF");
  }
  if (error == beast::error::bad_version) return reject(505, "only HTTP/1.0 and 1.1 are spoken");
  if (error) return reject(400, "this is not HTTP: " + error.message());
  if (head_done() && !reader_->method.has_value()) {
    return reject(501, "the method is not one that this server knows");
  }
  return taken;
}

bool RequestParser::started() const { return reader_->got_some(); }
bool RequestParser::head_done() const { return reader_->is_header_done(); }
bool RequestParser::done() const { return reader_->is_done(); }
bool RequestParser::keep_alive() const { return reader_->keep_alive(); }
bool RequestParser::is_http_1_0() const { return reader_->version < 11; }

bool RequestParser::expects_continue() const {
  std::optional<std::string_view> expected = reader_->headers.find("expect");
  return !is_http_1_0() && expected.has_value() && *expected == "100-continue";
}

Result<Request> RequestParser::take() {
  CHECK(done(), "a request is taken before it is complete");
  Request request;
  request.method = *reader_->method;
  request.headers = std::move(reader_->headers);
  request.body = std::move(reader_->body);
  std::string target = std::move(reader_->target);
  bool needs_host = !is_http_1_0();
  restart();
  Result<void> parsed = parse_target(target, request);
  if (!parsed.ok()) return reject(400, std::move(parsed).error().message).with_value(target);
  if (needs_host && !request.headers.has("host")) return reject(400, "the Host header is missing");
  return request;
}

class ResponseParser::Reader : public ReaderBase<false> {
 public:
  int status = 0;

 private:
  void on_request_impl(beast::verb, Text, Text, int, ErrorCode&) override {
    CHECK(false, "a response parser met a request");
  }
  void on_response_impl(int code, Text, int http_version, ErrorCode&) override {
    status = code;
    version = http_version;
  }
};

ResponseParser::ResponseParser() { begin(Method::kGet); }

ResponseParser::~ResponseParser() = default;

void ResponseParser::begin(Method requested) {
  requested_ = requested;
  reader_ = std::make_unique<Reader>();
  reader_->eager(true);
  reader_->header_limit(limit_of(kHeaderMax));
  reader_->body_limit(boost::none);  // The caller that takes the pieces bounds their sum.
  reader_->skip(requested == Method::kHead);
}

Result<std::size_t> ResponseParser::feed(std::string_view bytes) {
  CHECK(!done(), "a parser is fed after the end of its response");
  ErrorCode error;
  std::size_t taken = put(*reader_, bytes, error);
  if (error) {
    return Error(Errc::kInvalid, "the peer does not speak HTTP: " + error.message());
  }
  bool interim = reader_->is_done() && reader_->status >= 100 && reader_->status < 200;
  if (interim) begin(requested_);
  return taken;
}

Result<void> ResponseParser::eof() {
  ErrorCode error;
  if (started() && !done()) reader_->put_eof(error);
  if (!done() || error) {
    return Error(Errc::kUnavailable, "the connection ended before the response did");
  }
  return {};
}

bool ResponseParser::started() const { return reader_->got_some(); }
bool ResponseParser::head_done() const { return reader_->is_header_done(); }
bool ResponseParser::done() const { return reader_->is_done(); }
bool ResponseParser::keep_alive() const { return reader_->keep_alive(); }
int ResponseParser::status() const { return reader_->status; }
const Headers& ResponseParser::headers() const { return reader_->headers; }
std::string ResponseParser::take_body() { return std::exchange(reader_->body, {}); }

}  // namespace runnel::http::detail
