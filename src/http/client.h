#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "http/blocking_client.h"
#include "http/endpoint.h"
#include "http/message.h"

namespace runnel::http {

// The client of services on a loop: the agent's link to control.
//
// Contract: as BlockingClient, with tokens instead of cancel(). One request or stream at a time;
//           a second one while one runs is kConflict.
// Threads:  the loop's only.
// Lifetime: nothing is pending at destruction.
class Client {
 public:
  Client(async::EventLoop& loop, Endpoint endpoint, ClientOptions options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  Async<Response> request(Request request, async::StopToken stop = {});
  // Calls `on_chunk` for each piece of a success's body as it arrives; an error of it ends the
  // stream. The response carries the head, and the body too when the status is not a success.
  Async<Response> stream(Request request, std::function<Result<void>(std::string_view)> on_chunk,
                         async::StopToken stop = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace runnel::http
