#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "home/home.h"
#include "http/blocking_client.h"
#include "json/value.h"

namespace runnel::cli {

// Whether a command that finds no daemon may start one.
enum class Start : std::uint8_t { kIfAbsent, kNever };

// The CLI's side of the home daemon: finds it, starts it, asks it, and does so again when it died.
//
// Contract: get/post/remove answer with the document of a success; a problem document becomes its
// Error.
//           A daemon that is not there is started (once per call); a connection that breaks is made
//           again, and the request repeated when that cannot do harm: GETs, and posts that carry an
//           idempotency key.
// Threads:  one.
class Session {
 public:
  Session(home::Home home, Start start);

  Result<void> connect();
  Result<json::Value> get(const std::string& target);
  Result<json::Value> post(const std::string& target, const std::string& body = {},
                           const std::string& idempotency_key = {});
  Result<json::Value> remove(const std::string& target);
  // For streams: a client with no limit on silence, on a connection of its own.
  Result<std::unique_ptr<http::BlockingClient>> stream_client();

  const home::Home& home() const { return home_; }

 private:
  Result<http::Response> ask(const http::Request& request, bool repeatable);
  Result<std::int64_t> start_daemon() const;
  Result<void> wait_for_daemon(std::int64_t pid);
  Result<void> look_for_failure(std::int64_t pid) const;
  Result<bool> listening();

  home::Home home_;
  Start start_;
  http::BlockingClient knock_;
  http::BlockingClient client_;
};

}  // namespace runnel::cli
