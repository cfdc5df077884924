// Errors as RFC 9457 problem documents, and back.

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "http/message.h"
#include "json/value.h"
#include "json/writer.h"

namespace runnel::http {

namespace {

constexpr std::string_view kProblemType = "application/problem+json";
constexpr std::string_view kRetryAfterSeconds = "1";

constexpr std::array kAllCodes = {
    Errc::kInvalid,     Errc::kNotFound, Errc::kConflict, Errc::kPrecondition, Errc::kGone,
    Errc::kUnsupported, Errc::kDenied,   Errc::kFull,     Errc::kUnavailable,  Errc::kTimeout,
    Errc::kCancelled,   Errc::kCorrupt,  Errc::kIo,       Errc::kInternal};

// What is wrong, and where: in ascending order, as the writer wants it; unknown members are left
// out. A problem has members between them.
void write_begin(json::Writer& writer, const Error& error) {
  writer.begin_object().field("code", to_string(error.code));
  if (error.where.known()) writer.field("column", error.where.column);
  writer.field("detail", error.message);
}

void write_fault(json::Writer& writer, const Error& error) {
  write_begin(writer, error);
  if (!error.field.empty()) writer.field("field", error.field);
  if (!error.where.file.empty()) writer.field("file", error.where.file);
  if (!error.hint.empty()) writer.field("hint", error.hint);
  if (error.where.known()) writer.field("line", error.where.line);
  if (!error.value.empty()) writer.field("value", error.value);
  writer.end_object();
}

// Every fault of a document that has several, the problem's own first.
void write_faults(json::Writer& writer, const Error& error) {
  if (error.others.empty()) return;
  writer.key("faults").begin_list();
  write_fault(writer, error);
  for (const Error& other : error.others) write_fault(writer, other);
  writer.end_list();
}

std::string problem_json(const Error& error, int status) {
  std::string out;
  json::Writer writer(out);
  write_begin(writer, error);
  write_faults(writer, error);
  if (!error.field.empty()) writer.field("field", error.field);
  if (!error.where.file.empty()) writer.field("file", error.where.file);
  if (!error.hint.empty()) writer.field("hint", error.hint);
  if (error.where.known()) writer.field("line", error.where.line);
  writer.field("status", status).field("title", reason(status));
  writer.field("type", "urn:runnel:problem:" + std::string(to_string(error.code)));
  if (!error.value.empty()) writer.field("value", error.value);
  writer.end_object();
  return out;
}

std::string text_member(const json::Value& document, std::string_view name) {
  const json::Value* member = document.find(name);
  return member != nullptr && member->is_text() ? member->as_text() : std::string();
}

int int_member(const json::Value& document, std::string_view name) {
  const json::Value* member = document.find(name);
  return member != nullptr && member->is_int() ? static_cast<int>(member->as_int()) : 0;
}

Errc code_of(std::string_view word, int status) {
  for (Errc code : kAllCodes) {
    if (to_string(code) == word) return code;
  }
  return errc_of(status);
}

Error read_fault(const json::Value& document, int status) {
  Error error(code_of(text_member(document, "code"), status), text_member(document, "detail"));
  error.field = text_member(document, "field");
  error.value = text_member(document, "value");
  error.hint = text_member(document, "hint");
  error.where.file = text_member(document, "file");
  error.where.line = int_member(document, "line");
  error.where.column = int_member(document, "column");
  return error;
}

}  // namespace

int status_of(Errc code) {
  switch (code) {
    case Errc::kInvalid:
    case Errc::kUnsupported: return 422;
    case Errc::kNotFound: return 404;
    case Errc::kConflict: return 409;
    case Errc::kPrecondition: return 412;
    case Errc::kGone: return 410;
    case Errc::kDenied: return 403;
    case Errc::kFull: return 429;
    case Errc::kUnavailable:
    case Errc::kCancelled: return 503;
    case Errc::kTimeout: return 504;
    case Errc::kCorrupt:
    case Errc::kIo:
    case Errc::kInternal: return 500;
  }
  return 500;
}

Errc errc_of(int status) {
  switch (status) {
    case 401:
    case 403: return Errc::kDenied;
    case 404: return Errc::kNotFound;
    case 409: return Errc::kConflict;
    case 410: return Errc::kGone;
    case 412: return Errc::kPrecondition;
    case 429: return Errc::kFull;
    case 502:
    case 503: return Errc::kUnavailable;
    case 408:
    case 504: return Errc::kTimeout;
    default: return status >= 400 && status < 500 ? Errc::kInvalid : Errc::kInternal;
  }
}

std::string_view reason(int status) {
  switch (status) {
    case 100: return "Continue";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 304: return "Not Modified";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Status";
  }
}

Response problem(const Error& error) { return problem(error, status_of(error.code)); }

Response problem(const Error& error, int status) {
  Response response;
  response.status = status;
  response.headers.add("Content-Type", std::string(kProblemType));
  if (status == 429 || status == 503) {
    response.headers.add("Retry-After", std::string(kRetryAfterSeconds));
  }
  response.body = problem_json(error, status);
  return response;
}

Error error_of(const Response& response) {
  Result<json::Value> parsed = json::parse(response.body);
  if (!parsed.ok() || !parsed->is_object() || text_member(*parsed, "detail").empty()) {
    return Error(errc_of(response.status), "the server answered " +
                                               std::to_string(response.status) + " " +
                                               std::string(reason(response.status)));
  }
  Error error = read_fault(*parsed, response.status);
  const json::Value* faults = parsed->find("faults");
  if (faults == nullptr || !faults->is_list()) return error;
  for (const json::Value& fault : faults->as_list()) {
    if (&fault == &faults->as_list().front() || !fault.is_object()) continue;
    error.others.push_back(read_fault(fault, response.status));
  }
  return error;
}

}  // namespace runnel::http
