#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

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
  Session(const Session&) = delete;  // Its clients call it.
  Session& operator=(const Session&) = delete;

  Result<void> connect();
  Result<json::Value> get(const std::string& target);
  Result<json::Value> post(const std::string& target, const std::string& body = {},
                           const std::string& idempotency_key = {});
  Result<json::Value> remove(const std::string& target);
  // For streams: a client with no limit on silence, on a connection of its own, which the session
  // outlives.
  Result<std::unique_ptr<http::BlockingClient>> stream_client();

  // To be called by whoever follows a stream: what came of it lately, and kQuietMax without any. A
  // daemon that was stopped is told of then, as when it does not answer, once until it is heard.
  static constexpr Duration kQuietMax = Duration::seconds(3);
  void heard() { told_of_stopped_ = false; }
  void heard_nothing();
  // Takes the place of say(), where something is drawn on the terminal; none: say() again.
  void tell_by(std::function<void(const std::string&)> tell) { tell_ = std::move(tell); }

  const home::Home& home() const { return home_; }

 private:
  http::ClientOptions patient_for(Duration longest);
  Result<http::Response> ask(const http::Request& request, bool repeatable);
  Result<std::int64_t> start_daemon() const;
  Result<void> wait_for_daemon(std::int64_t pid);
  Result<void> look_for_failure(std::int64_t pid) const;
  Result<bool> listening();

  home::Home home_;
  Start start_;
  bool told_of_stopped_ = false;
  std::function<void(const std::string&)> tell_;
  http::BlockingClient knock_;
  http::BlockingClient client_;
};

}  // namespace runnel::cli
