#include "control/api/route.h"

#include <algorithm>
#include <string>

#include "base/check.h"
#include "json/value.h"
#include "json/writer.h"

namespace runnel::control {
namespace {

constexpr std::size_t kProjectBytesMax = 63;
constexpr std::size_t kKeyBytesMax = 255;

bool is_project_letter(char letter) {
  return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '-';
}

Result<ProjectId> project_of(const http::Request& request) {
  for (const auto& [name, value] : request.params) {
    if (name != "project") continue;
    const bool letters = std::all_of(value.begin(), value.end(), is_project_letter);
    if (!value.empty() && letters && value.size() <= kProjectBytesMax) {
      return ProjectId(value);
    }
    return Error(Errc::kInvalid, "this cannot be the name of a project")
        .with_field("project")
        .with_value(value)
        .with_hint("names have 1 to 63 of a-z, 0-9 and '-'");
  }
  return ProjectId("default");
}

// Only the home's own account and root can connect to it. A name is not looked up: that may wait
// for a directory server.
std::string name_of(std::uint32_t uid, const Account& home) {
  if (uid == home.uid) return home.name;
  return uid == 0 ? "root" : "uid " + std::to_string(uid);
}

}  // namespace

Result<model::Principal> principal_of(const http::Request& request, const Account& home) {
  if (!request.peer_uid) {
    return Error(Errc::kDenied, "nobody can tell who asks")
        .with_hint("connect to the home's Unix socket, which `runnel home` names");
  }
  return model::Principal{TRY(project_of(request)), name_of(*request.peer_uid, home)};
}

Async<http::Reply> refused(Error error) { co_return error; }

// An empty object says nothing, however it is written.
bool says_nothing(std::string_view body) {
  if (body.empty()) return true;
  const Result<json::Value> value = json::parse(body);
  return value.ok() && value->is_object() && value->as_object().empty();
}

Result<void> check_body(const Operation& operation, const http::Request& request) {
  const bool is_read = !operation.body.empty() || !operation.other_bodies.empty();
  if (is_read || says_nothing(request.body)) return {};
  return Error(Errc::kInvalid, "this request has no body, and one was sent")
      .with_field("body")
      .with_hint("what it can be told goes into the query, ?name=value: see /openapi.json");
}

Result<std::string> key_of(const http::Request& request) {
  std::string key(request.headers.find("idempotency-key").value_or(""));
  if (key.size() > kKeyBytesMax) {
    return Error(Errc::kInvalid, "is longer than " + std::to_string(kKeyBytesMax) + " bytes")
        .with_field("Idempotency-Key");
  }
  if (!json::is_utf8(key)) {
    return Error(Errc::kInvalid, "is not UTF-8 text").with_field("Idempotency-Key");
  }
  return key;
}

http::Response with_version(http::Response response, EventSeq version) {
  CHECK(version >= EventSeq(), "a version before the first event");
  response.headers.set("ETag", "\"" + std::to_string(version.value()) + "\"");
  return response;
}

}  // namespace runnel::control
