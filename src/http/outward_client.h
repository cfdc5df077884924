#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "async/async.h"
#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/result.h"
#include "base/units.h"
#include "http/message.h"

namespace runnel::http {

// How a request proves who sends it: AWS Signature Version 4, which libcurl computes. A session
// token is a header of the request.
struct AwsSigner {
  std::string region;
  std::string service;  // "s3"
  std::string key_id;
  std::string secret;
};

struct OutwardRequest {
  Method method = Method::kGet;
  std::string url;  // Percent-encoded.
  Headers headers;
  std::shared_ptr<const std::string> body;  // Null: none.
  std::optional<AwsSigner> signer;
  // Where the body of a 2xx answer goes, which must fit exactly; empty: into Response::body, of at
  // most `body_max` bytes.
  std::span<char> into;
  Bytes body_max = Bytes::mebi(64);
};

struct OutwardLimits {
  int connections_max = 32;         // At one time; more requests wait their turn.
  std::size_t waiting_max = 1'024;  // Requests under way or waiting; more are refused.
  Duration connect_max = Duration::seconds(5);
  Duration silence_max = Duration::seconds(20);  // Less than a byte a second for so long: kTimeout.
  Duration total_max = Duration::minutes(10);
  std::string ca_bundle;  // A file of authorities for TLS; empty: the system's.
};

// A client for servers elsewhere, many requests at a time: object stores, clouds. Connections are
// kept; proxies and authorities of TLS are those of the usual variables.
//
// Contract: request() returns any response that arrived whole, of whatever status; errors are those
//           of the connection. kUnavailable and kTimeout leave open whether the server has done
//           what was asked. kInvalid for a URL that is none. stop() ends what is under way with
//           kCancelled.
// Threads:  request() and stop() on the loop; transfers run on a thread "http-outward".
// Lifetime: stop() is awaited before destruction. What `into` refers to is let go of before
//           request() returns.
// Why:      libcurl has the connections, the TLS and the signatures, and is confined here.
class OutwardClient {
 public:
  static Result<std::unique_ptr<OutwardClient>> create(async::EventLoop& loop,
                                                       OutwardLimits limits = {});
  ~OutwardClient();
  OutwardClient(const OutwardClient&) = delete;
  OutwardClient& operator=(const OutwardClient&) = delete;

  Async<Response> request(OutwardRequest request, async::StopToken stop);
  Async<void> stop();

 private:
  struct Impl;
  explicit OutwardClient(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace runnel::http
