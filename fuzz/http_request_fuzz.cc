// Arbitrary bytes as what a client sends on one connection, up to the handlers and their JSON. How
// the bytes are cut into reads must not matter: else a request could be smuggled past a proxy.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "base/check.h"
#include "http/detail/parser.h"
#include "http/router.h"
#include "json/value.h"

namespace {

using runnel::Async;
using runnel::Error;
using runnel::Result;
using namespace runnel::http;  // NOLINT: a fuzzer is a leaf.

constexpr std::size_t kRequestsMax = 64;

// A connection's life as text: each request, and the status that ended it.
struct Heard {
  std::vector<std::string> requests;
  int failure = 0;
  bool operator==(const Heard&) const = default;
};

Async<Reply> parse_body(Request request) {
  Result<runnel::json::Value> document = runnel::json::parse(request.body);
  if (!document.ok()) co_return std::move(document).error();
  co_return Response::json(*document);
}

Async<Reply> name_job(Request request) { co_return Response::text(request.param("id")); }

Router make_router() {
  Router router;
  router.post("/api/v1/jobs", parse_body);
  router.get("/api/v1/jobs/{id}", name_job);
  router.post("/api/v1/jobs/{id}:cancel", name_job);
  router.get("/api/v1/jobs/{id}/tasks/{task}", name_job);
  return router;
}

std::string handle(Request request) {
  static const Router router = make_router();
  static runnel::async::EventLoop& loop = *MUST(runnel::async::EventLoop::create()).release();
  std::string target = request.target();
  Request again = Request::get(target);
  CHECK(again.path == request.path, "a path changed by being written and read");
  CHECK(again.query == request.query, "a query changed by being written and read");
  Result<Reply> reply = loop.block_on(router.handle(std::move(request)));
  Response response = reply.ok() ? std::get<Response>(*std::move(reply)) : problem(reply.error());
  if (response.success()) return target + "\n" + response.body;
  Error error = error_of(response);
  CHECK(!error.message.empty(), "a problem without a sentence");
  return target + "\n" + std::to_string(response.status);
}

Heard hear(std::string_view bytes, std::size_t cut) {
  Heard heard;
  detail::RequestParser parser(
      {.header_max = runnel::Bytes::kibi(2), .body_max = runnel::Bytes::kibi(4)});
  std::string pending;
  while (!bytes.empty() && heard.requests.size() < kRequestsMax) {
    pending += bytes.substr(0, cut);
    bytes.remove_prefix(std::min(cut, bytes.size()));
    while (!pending.empty() && heard.requests.size() < kRequestsMax) {
      Result<std::size_t> taken = parser.feed(pending);
      if (taken.ok()) pending.erase(0, *taken);
      Result<Request> request = Error();
      if (taken.ok() && parser.done()) request = parser.take();
      heard.failure = parser.failure_status();
      if (heard.failure != 0) return heard;
      if (request.ok()) heard.requests.push_back(handle(*std::move(request)));
      if (*taken == 0) break;
    }
  }
  return heard;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::size_t cut = std::size_t{1} + data[0] % 64;
  // Ended, since a broken line may be refused at once or when it is whole.
  std::string bytes = std::string(reinterpret_cast<const char*>(data) + 1, size - 1) + "\r\n\r\n";
  Heard whole = hear(bytes, bytes.size());
  Heard pieces = hear(bytes, cut);
  // A refusal may come earlier in pieces or in whole (a limit met before a syntax error), so only
  // what both accepted, and whether they refused at all, must agree.
  CHECK(whole.requests == pieces.requests, "the cut of the input changed its requests");
  CHECK((whole.failure == 0) == (pieces.failure == 0), "the cut of the input decided a refusal");
  return 0;
}
