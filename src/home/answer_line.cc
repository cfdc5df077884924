#include "home/answer_line.h"

#include <variant>

#include "json/value.h"

namespace runnel::home {
namespace {

constexpr int kServerError = 500;

}  // namespace

void tell_answer(DaemonLog& log, const std::string& request, const Result<http::Reply>& reply,
                 Duration took) {
  const auto* response = reply.ok() ? std::get_if<http::Response>(&*reply) : nullptr;
  if (reply.ok() && response == nullptr) return;
  const int status = response == nullptr ? http::problem(reply.error()).status : response->status;
  const bool failed = status >= kServerError;
  if (!failed && took < kSlowAnswer) return;
  log.add(failed ? LogLevel::kError : LogLevel::kWarning, "http",
          failed ? "a request failed" : "a request was slow",
          {{"request", json::Value::text(request)},
           {"status", json::Value::integer(status)},
           {"took_ms", json::Value::integer(took.millis())}});
}

}  // namespace runnel::home
