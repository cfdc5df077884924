#include "http/message.h"

#include <algorithm>
#include <cstddef>

#include "base/ascii_case.h"
#include "base/check.h"

namespace runnel::http {

namespace {

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  char letter = to_lower(digit);
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  return -1;
}

bool is_unreserved(char c) {
  return (c >= '0' && c <= '9') || (to_lower(c) >= 'a' && to_lower(c) <= 'z') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

void append_escape(std::string& out, char c) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  auto byte = static_cast<unsigned char>(c);
  out += '%';
  out += kDigits[byte >> 4];
  out += kDigits[byte & 15];
}

// In a query a space may also be written as a plus.
Result<std::string> decode_query_word(std::string_view word) {
  std::string spaced(word);
  std::replace(spaced.begin(), spaced.end(), '+', ' ');
  return percent_decode(spaced);
}

Result<Request::Pairs> parse_query(std::string_view text) {
  Request::Pairs pairs;
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.empty()) continue;
    std::size_t equals = part.find('=');
    std::string name = TRY(decode_query_word(part.substr(0, equals)));
    std::string value;
    if (equals != std::string_view::npos) value = TRY(decode_query_word(part.substr(equals + 1)));
    pairs.emplace_back(std::move(name), std::move(value));
  }
  return pairs;
}

Response typed(std::string body, std::string_view type, int status) {
  Response response;
  response.status = status;
  response.headers.add("Content-Type", std::string(type));
  response.body = std::move(body);
  return response;
}

}  // namespace

std::string_view to_string(Method method) {
  switch (method) {
    case Method::kGet: return "GET";
    case Method::kHead: return "HEAD";
    case Method::kPost: return "POST";
    case Method::kPut: return "PUT";
    case Method::kPatch: return "PATCH";
    case Method::kDelete: return "DELETE";
    case Method::kOptions: return "OPTIONS";
  }
  return "GET";
}

void Headers::add(std::string name, std::string value) {
  fields_.emplace_back(std::move(name), std::move(value));
}

void Headers::set(std::string_view name, std::string value) {
  std::erase_if(fields_,
                [name](const Field& field) { return equal_ignoring_case(field.first, name); });
  add(std::string(name), std::move(value));
}

std::optional<std::string_view> Headers::find(std::string_view name) const {
  for (const Field& field : fields_) {
    if (equal_ignoring_case(field.first, name)) return field.second;
  }
  return std::nullopt;
}

std::optional<std::string_view> Request::query_value(std::string_view name) const {
  for (const auto& [key, value] : query) {
    if (key == name) return value;
  }
  return std::nullopt;
}

const std::string& Request::param(std::string_view name) const {
  auto found = std::find_if(params.begin(), params.end(),
                            [name](const auto& pair) { return pair.first == name; });
  CHECK(found != params.end(), "the pattern of this handler has no such parameter");
  return found->second;
}

std::string Request::target() const {
  std::string out;
  for (char c : path) {
    bool plain = is_unreserved(c) || c == '/' || c == ':' || c == '@';
    plain ? void(out += c) : append_escape(out, c);
  }
  char separator = '?';
  for (const auto& [key, value] : query) {
    out += std::exchange(separator, '&');
    out += percent_encode(key);
    if (!value.empty()) out.append("=").append(percent_encode(value));
  }
  return out.empty() ? "/" : out;
}

Request Request::get(std::string_view target) {
  Request request;
  MUST(parse_target(target, request));
  return request;
}

Request Request::post(std::string_view target, std::string json_body) {
  Request request = get(target);
  request.method = Method::kPost;
  if (!json_body.empty()) request.headers.add("Content-Type", "application/json");
  request.body = std::move(json_body);
  return request;
}

Response Response::json(const json::Value& value, int status) {
  return json_text(value.dump(), status);
}

Response Response::json_text(std::string json, int status) {
  return typed(std::move(json), "application/json", status);
}

Response Response::text(std::string text, int status) {
  return typed(std::move(text), "text/plain; charset=utf-8", status);
}

StreamResponse StreamResponse::of(std::string content_type,
                                  std::function<Async<void>(StreamWriter&)> body) {
  StreamResponse response;
  response.headers.add("Content-Type", std::move(content_type));
  response.headers.add("Cache-Control", "no-store");
  response.body = std::move(body);
  return response;
}

Result<std::string> percent_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      int high = i + 1 < text.size() ? hex_value(text[i + 1]) : -1;
      int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
      if (high < 0 || low < 0) {
        return Error(Errc::kInvalid, "a % must be followed by two hexadecimal digits")
            .with_value(std::string(text));
      }
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return Error(Errc::kInvalid, "a NUL has no place in an address");
    out += c;
  }
  return out;
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (char c : text) is_unreserved(c) ? void(out += c) : append_escape(out, c);
  return out;
}

Result<void> parse_target(std::string_view target, Request& request) {
  if (!target.starts_with('/')) {
    return Error(Errc::kInvalid, "a request's target must begin with /")
        .with_value(std::string(target));
  }
  target = target.substr(0, target.find('#'));
  std::size_t question = target.find('?');
  request.path = TRY(percent_decode(target.substr(0, question)));
  request.query.clear();
  if (question != std::string_view::npos) {
    request.query = TRY(parse_query(target.substr(question + 1)));
  }
  return {};
}

}  // namespace runnel::http
