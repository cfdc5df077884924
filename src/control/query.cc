#include "control/query.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/nearest.h"
#include "http/event_stream.h"
#include "json/writer.h"

namespace runnel::control {
namespace {

Error bad(std::string_view name, std::string_view value, std::string message, std::string hint) {
  return Error(Errc::kInvalid, std::move(message))
      .with_field(std::string(name))
      .with_value(std::string(value))
      .with_hint(std::move(hint));
}

// `fault` as "is not a moment", after the value.
Error bad_value(std::string_view name, const std::string& value, const std::string& fault,
                std::string hint) {
  return bad(name, value, "'" + value + "' " + fault, std::move(hint));
}

}  // namespace

std::string text_of(const http::Request& request, std::string_view name) {
  return std::string(request.query_value(name).value_or(""));
}

Result<std::int64_t> whole_of(const http::Request& request, std::string_view name,
                              std::int64_t fallback, std::int64_t max) {
  CHECK(fallback <= max, "the default of a parameter is beyond its limit");
  const std::string text = text_of(request, name);
  if (text.empty()) return fallback;
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  auto [rest, failure] = std::from_chars(text.data(), end, value);
  if (failure != std::errc() || rest != end || value < 0 || value > max) {
    return bad_value(name, text, "is not a whole number from 0 to " + std::to_string(max),
                     "give such a number, or leave the parameter out");
  }
  return value;
}

Result<std::int64_t> limit_of(const http::Request& request) {
  const std::int64_t limit = TRY(whole_of(request, "limit", kPageDefault, kPageMax));
  if (limit > 0) return limit;
  return bad_value("limit", "0", "is no limit: a page holds at least one entry",
                   "give 1 to " + std::to_string(kPageMax));
}

Result<Duration> duration_of(const http::Request& request, std::string_view name,
                             Duration fallback) {
  constexpr Duration kMost = Duration::hours(24 * 7);
  const std::string text = text_of(request, name);
  if (text.empty()) return fallback;
  const Result<Duration> value = parse_duration(text);
  if (value.ok() && *value >= Duration() && *value <= kMost) return *value;
  return bad_value(name, text, "is not a length of time up to a week",
                   "write one such as 30s, or leave the parameter out");
}

Result<Flag> flag_of(const http::Request& request, std::string_view name) {
  auto value = request.query_value(name);
  if (!value || *value == "0" || *value == "false") return Flag::kOff;
  if (value->empty() || *value == "1" || *value == "true") return Flag::kOn;
  return bad_value(name, std::string(*value), "is neither 1 nor 0",
                   "write ?" + std::string(name) + "=1");
}

Result<std::optional<model::Status>> status_of(const http::Request& request,
                                               std::string_view name) {
  std::string text = text_of(request, name);
  if (text.empty()) return std::optional<model::Status>();
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
  auto status = model::parse_status(text);
  if (!status.ok()) return std::move(status).error().with_field(std::string(name));
  return std::optional(*status);
}

Result<std::optional<Time>> since_of(const http::Request& request, Time now) {
  const std::string text = text_of(request, "since");
  if (text.empty()) return std::optional<Time>();
  if (auto ago = parse_duration(text); ago.ok()) return std::optional(now - *ago);
  if (auto moment = parse_rfc3339(text); moment.ok()) return std::optional(*moment);
  return bad_value("since", text, "is neither a length of time nor a moment",
                   "write 10m, 2h30m or 2026-11-21T14:05:28Z");
}

Result<void> known_only(const http::Request& request, std::vector<std::string_view> names) {
  for (const auto& [name, value] : request.query) {
    if (!json::is_utf8(value)) {
      // It would be another text when it is read from the log again.
      return bad(name, "", "is not UTF-8 text", "send it as UTF-8, with its bytes in %XX");
    }
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string near = nearest(name, names);
    return bad(
        name, value, "this request has no such parameter",
        near.empty() ? "see /openapi.json for those it has" : "did you mean '" + near + "'?");
  }
  return {};
}

StreamForm stream_form_of(const http::Request& request) {
  const std::string_view accept = request.headers.find("accept").value_or("");
  return accept.find(http::kEventStreamType) != std::string_view::npos
             ? StreamForm::kServerSentEvents
             : StreamForm::kJsonLines;
}

}  // namespace runnel::control
