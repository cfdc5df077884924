#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>

#include <boost/json/basic_parser_impl.hpp>

#include "base/check.h"
#include "json/value.h"

namespace runnel::json {
namespace {

using boost::json::error_code;
using boost::json::string_view;

// Builds Values from the parser's events. What only we refuse (a key twice, an integer too large)
// is kept in `message`; the error code then only stops the parser.
struct Handler {
  // NOLINTBEGIN(readability-identifier-naming): the parser asks for these names.
  static constexpr std::size_t max_array_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_object_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_string_size = std::numeric_limits<std::size_t>::max();
  static constexpr std::size_t max_key_size = std::numeric_limits<std::size_t>::max();
  // NOLINTEND(readability-identifier-naming)

  // One open list or object, with the key whose value comes next.
  struct Level {
    Value container;
    std::string key;
  };

  bool refuse(std::string reason, const char* where, error_code& error) {
    message = std::move(reason);
    place = where;
    error = boost::json::error::extra_data;
    return false;
  }

  bool add(Value value) {
    if (levels.empty()) {
      root = std::move(value);
      return true;
    }
    Level& level = levels.back();
    if (level.container.is_list()) {
      level.container.as_list().push_back(std::move(value));
    } else {
      level.container.as_object().insert_or_assign(std::move(level.key), std::move(value));
      level.key.clear();
    }
    return true;
  }

  bool begin(Value container) {
    levels.push_back({std::move(container), {}});
    return true;
  }

  bool end() {
    CHECK(!levels.empty(), "the parser ends only what it began");
    Value done = std::move(levels.back().container);
    levels.pop_back();
    return add(std::move(done));
  }

  // The whole token: earlier parts and `last`.
  std::string finish_token(string_view last) {
    std::string whole = std::move(token);
    token.clear();
    whole.append(last.data(), last.size());
    return whole;
  }

  bool add_number(string_view last, const char* end_of_token, error_code& error) {
    std::string digits = finish_token(last);
    if (digits.find_first_of(".eE") == digits.npos) {
      return refuse("the integer " + digits + " does not fit into 64 bits", end_of_token, error);
    }
    return add(Value::decimal(std::move(digits)));
  }

  bool on_document_begin(error_code&) { return true; }
  bool on_document_end(error_code&) { return true; }
  bool on_array_begin(error_code&) { return begin(Value::list()); }
  bool on_array_end(std::size_t, error_code&) { return end(); }
  bool on_object_begin(error_code&) { return begin(Value::object()); }
  bool on_object_end(std::size_t, error_code&) { return end(); }

  bool on_string_part(string_view part, std::size_t, error_code&) {
    token.append(part.data(), part.size());
    return true;
  }
  bool on_string(string_view last, std::size_t, error_code&) {
    return add(Value::text(finish_token(last)));
  }
  bool on_key_part(string_view part, std::size_t size, error_code& error) {
    return on_string_part(part, size, error);
  }
  bool on_key(string_view last, std::size_t, error_code& error) {
    Level& level = levels.back();
    level.key = finish_token(last);
    if (level.container.find(level.key) == nullptr) return true;
    return refuse("the key '" + level.key + "' appears twice in one object", last.data(), error);
  }
  bool on_number_part(string_view part, error_code&) {
    token.append(part.data(), part.size());
    return true;
  }
  bool on_int64(std::int64_t value, string_view, error_code&) {
    token.clear();
    return add(Value::integer(value));
  }
  bool on_uint64(std::uint64_t value, string_view last, error_code& error) {
    if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      return add_number(last, last.data(), error);
    }
    return on_int64(static_cast<std::int64_t>(value), last, error);
  }
  bool on_double(double, string_view last, error_code& error) {
    return add_number(last, last.data(), error);
  }
  bool on_bool(bool value, error_code&) { return add(Value::boolean(value)); }
  bool on_null(error_code&) { return add(Value()); }
  bool on_comment_part(string_view, error_code&) { return true; }
  bool on_comment(string_view, error_code&) { return true; }

  Value root;
  std::vector<Level> levels;
  std::string token;
  std::string message;
  const char* place = nullptr;  // Inside the document, or inside the parser's buffer.
};

SourcePosition position_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const std::size_t line_begin = before.rfind('\n') == before.npos ? 0 : before.rfind('\n') + 1;
  return {"", static_cast<int>(line), static_cast<int>(offset - line_begin) + 1};
}

// The place that our own refusal points to: the token when it stands in the document, else where
// reading was.
std::size_t offset_of(std::string_view text, const char* place, std::size_t consumed) {
  const std::less<> before;
  const bool inside =
      place != nullptr && !before(place, text.data()) && before(place, text.data() + text.size());
  return inside ? static_cast<std::size_t>(place - text.data()) : std::min(consumed, text.size());
}

std::string reason_of(const error_code& code, const ParseLimits& limits) {
  using boost::json::error;
  switch (static_cast<error>(code.value())) {
    case error::incomplete: return "the document ends too early";
    case error::extra_data: return "there is more text after the end of the document";
    case error::too_deep:
      return "lists and objects are nested deeper than " + std::to_string(limits.depth_max);
    case error::exponent_overflow: return "the exponent of this number is too large";
    case error::illegal_leading_surrogate:
    case error::illegal_trailing_surrogate: return "this \\u escape is half of a pair";
    case error::expected_hex_digit: return "a \\u escape needs four hexadecimal digits";
    case error::expected_utf16_escape: return "the second half of a \\u pair is missing";
    default: return "this is not valid JSON";
  }
}

Error too_large(std::string_view text, const ParseLimits& limits) {
  return Error(Errc::kInvalid, "the document has " + std::to_string(text.size()) +
                                   " bytes, more than the maximum of " +
                                   std::to_string(limits.bytes_max));
}

}  // namespace

Result<Value> parse(std::string_view text, const ParseLimits& limits) {
  if (text.size() > limits.bytes_max) return too_large(text, limits);
  CHECK(limits.depth_max > 0, "a document has at least one level");
  boost::json::parse_options options;
  options.max_depth = static_cast<std::size_t>(limits.depth_max);
  boost::json::basic_parser<Handler> parser(options);
  error_code code;
  const std::size_t consumed = parser.write_some(false, text.data(), text.size(), code);
  Handler& handler = parser.handler();
  const bool has_rest = !code && consumed < text.size();
  if (!code && !has_rest) return std::move(handler.root);
  if (has_rest) code = boost::json::error::extra_data;
  const bool is_ours = !handler.message.empty();
  Error error(Errc::kInvalid, is_ours ? std::move(handler.message) : reason_of(code, limits));
  error.at(position_of(text, offset_of(text, handler.place, consumed)));
  return error;
}

}  // namespace runnel::json
