#pragma once

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "async/async.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/result.h"
#include "control/api/host.h"
#include "control/api/query.h"
#include "http/message.h"
#include "model/principal.h"

namespace runnel::control {

// Made of each request, here and nowhere else: who asks a home is the user at the other end of the
// socket, whom the kernel names, whatever the request says. kDenied when it came over something
// that does not tell. The project is that of a path below /projects/{project}, and "default" for
// the short form.
//
// Why: a home's log says who did what; a member of the body would be anybody's word for it.
Result<model::Principal> principal_of(const http::Request& request, const Account& home);

// A request on its way to its route.
struct Ask {
  model::Principal principal;
  http::Request request;
};

using Handle = std::function<Async<http::Reply>(Ask)>;

// One thing that can be asked, as /openapi.json tells of it. Shapes are named as in api_schemas().
struct Operation {
  http::Method method = http::Method::kGet;
  std::string_view path;
  std::string_view summary;
  std::string_view answer;       // Shape of a document; "" where there is a stream only.
  std::string_view body = {};    // Shape of what is sent.
  std::string_view stream = {};  // Shape of each line or event where the answer can be a stream.
  std::vector<std::string_view> headers = {};       // Those that say more of what is asked.
  std::vector<std::string_view> other_bodies = {};  // Media types beside JSON.
  std::vector<std::string_view> other_streams = {};
};

// The parameters of a query, as OpenAPI has them.
using Parameters = json::Value::List (*)();

struct Route {
  Operation operation;
  Parameters parameters = nullptr;
  Handle handle;
};

Async<http::Reply> refused(Error error);

// kInvalid for a request with a body that nobody would read.
Result<void> check_body(const Operation& operation, const http::Request& request);

// A route whose query is read, and described, by the fields of Query.
template <typename Query, typename Routes>
Route route(Operation operation, Routes& routes, Async<http::Reply> (Routes::*answer)(Ask, Query)) {
  CHECK(answer != nullptr, "a route that nobody answers");
  Handle handle = [&routes, answer, operation](Ask ask) {
    Result<void> body = check_body(operation, ask.request);
    if (!body.ok()) return refused(std::move(body).error());
    Result<Query> query = read_query<Query>(ask.request);
    if (!query.ok()) return refused(std::move(query).error());
    return (routes.*answer)(std::move(ask), *std::move(query));
  };
  return {std::move(operation), &query_parameters<Query>, std::move(handle)};
}

// The request's Idempotency-Key; "" for none.
Result<std::string> key_of(const http::Request& request);

http::Response with_version(http::Response response, EventSeq version);

}  // namespace runnel::control
