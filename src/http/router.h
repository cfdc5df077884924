#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace runnel::http {

// Chooses the handler of a request by method and path.
//
// Contract: a pattern is "/api/v1/jobs/{id}" or, for an action, "/api/v1/jobs/{id}:cancel", which
//           "/api/v1/jobs/{id}/cancel" reaches as well. Literal segments win over parameters. HEAD
//           uses the GET handler. No pattern: 404; another method only: 405 with Allow. The first
//           registration of a pattern and method is the only one (CHECKed).
// Threads:  filled before the server starts, then read only.
class Router {
 public:
  Router();
  ~Router();
  Router(Router&&) noexcept;
  Router& operator=(Router&&) noexcept;

  void add(Method method, std::string_view pattern, Handler handler);
  void get(std::string_view pattern, Handler handler);
  void post(std::string_view pattern, Handler handler);
  void put(std::string_view pattern, Handler handler);
  void del(std::string_view pattern, Handler handler);

  // Runs the handler, or answers 404/405. The router outlives the returned work.
  Async<Reply> handle(Request request) const;

 private:
  struct Node;
  struct Match;
  Match match(const std::string& path) const;
  static Response not_allowed(const Request& request, const Match& found);

  std::unique_ptr<Node> root_;
};

}  // namespace runnel::http
