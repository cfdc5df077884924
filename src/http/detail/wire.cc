#include "http/detail/wire.h"

#include <charconv>
#include <iterator>

#include "base/check.h"

namespace runnel::http::detail {

namespace {

void append_field(std::string& out, std::string_view name, std::string_view value) {
  std::size_t begin = out.size();
  out.append(name).append(": ").append(value);
  for (std::size_t i = begin; i < out.size(); ++i) {
    if (out[i] == '\r' || out[i] == '\n' || out[i] == '\0') out[i] = ' ';
  }
  out.append("\r\n");
}

void append_fields(std::string& out, const Headers& headers) {
  for (const Headers::Field& field : headers.fields()) {
    append_field(out, field.first, field.second);
  }
}

std::string head_start(int status, const Headers& headers, ConnectionUse use) {
  CHECK(status >= 100, "a status has three digits");
  CHECK(status <= 999, "a status has three digits");
  std::string out;
  out.reserve(256);
  out.append("HTTP/1.1 ").append(std::to_string(status)).append(" ").append(reason(status));
  out.append("\r\n");
  append_fields(out, headers);
  if (use == ConnectionUse::kClose) out.append("Connection: close\r\n");
  return out;
}

}  // namespace

bool may_repeat(Method method) { return method == Method::kGet || method == Method::kHead; }

bool may_have_body(int status) { return status >= 200 && status != 204 && status != 304; }

std::string response_head(int status, const Headers& headers, std::size_t length,
                          ConnectionUse use) {
  std::string out = head_start(status, headers, use);
  if (may_have_body(status)) append_field(out, "Content-Length", std::to_string(length));
  out.append("\r\n");
  return out;
}

std::string stream_head(int status, const Headers& headers, Framing framing, ConnectionUse use) {
  std::string out = head_start(status, headers, use);
  if (framing == Framing::kChunked) out.append("Transfer-Encoding: chunked\r\n");
  out.append("\r\n");
  return out;
}

std::string chunk(std::string_view bytes) {
  CHECK(!bytes.empty(), "an empty chunk would end the body");
  char digits[16];
  std::to_chars_result printed =
      std::to_chars(std::begin(digits), std::end(digits), bytes.size(), 16);
  std::string out;
  out.reserve(bytes.size() + 24);
  out.append(std::begin(digits), printed.ptr).append("\r\n").append(bytes).append("\r\n");
  return out;
}

std::string request_bytes(const Request& request, std::string_view host) {
  std::string out;
  out.reserve(256 + request.body.size());
  out.append(to_string(request.method)).append(" ").append(request.target());
  out.append(" HTTP/1.1\r\n");
  if (!request.headers.has("host")) append_field(out, "Host", host);
  append_fields(out, request.headers);
  bool has_body = !request.body.empty() || request.method == Method::kPost ||
                  request.method == Method::kPut || request.method == Method::kPatch;
  if (has_body) append_field(out, "Content-Length", std::to_string(request.body.size()));
  out.append("\r\n").append(request.body);
  return out;
}

}  // namespace runnel::http::detail
