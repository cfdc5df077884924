#include "http/router.h"

#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include "base/check.h"

namespace runnel::http {

namespace {

struct Route {
  std::vector<std::string> names;  // The parameters, in the order of the path.
  Handler handler;
};

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    if (path.starts_with('/')) path.remove_prefix(1);
    std::string_view segment = path.substr(0, path.find('/'));
    path.remove_prefix(segment.size());
    // A slash at the end adds nothing: "/jobs/" is "/jobs".
    if (!segment.empty() || !path.empty()) segments.push_back(segment);
  }
  return segments;
}

bool is_parameter(std::string_view segment) {
  return segment.starts_with('{') && segment.ends_with('}');
}

// "{id}:cancel" -> "{id}" and "cancel".
std::optional<std::pair<std::string_view, std::string_view>> split_action(
    std::string_view segment) {
  std::size_t colon = segment.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return std::nullopt;
  return std::pair(segment.substr(0, colon), segment.substr(colon + 1));
}

Async<Reply> answer(Response response) { co_return Reply(std::move(response)); }

}  // namespace

// Where a path leads, and what stood in the place of the parameters.
struct Router::Match {
  const Node* node = nullptr;
  std::vector<std::string> values;
};

struct Router::Node {
  using Children = std::map<std::string, std::unique_ptr<Node>, std::less<>>;

  Children literals;
  Children actions;
  std::unique_ptr<Node> parameter;
  std::map<Method, Route> routes;

  // Finds the node of `segments` from `index` on; literals first, then actions, then parameters.
  bool walk(const std::vector<std::string_view>& segments, std::size_t index, Match& found) const;
  bool walk_action(std::string_view segment, Match& found) const;
  bool end_here(Match& found) const;
};

bool Router::Node::end_here(Match& found) const {
  if (routes.empty()) return false;
  found.node = this;
  return true;
}

// "ID:cancel" as the last segment.
bool Router::Node::walk_action(std::string_view segment, Match& found) const {
  auto parts = split_action(segment);
  if (!parts.has_value()) return false;
  auto [name, action] = *parts;
  auto literal = literals.find(name);
  const Node* child = literal != literals.end() ? literal->second.get() : parameter.get();
  if (child == nullptr) return false;
  auto acting = child->actions.find(action);
  if (acting == child->actions.end()) return false;
  if (child == parameter.get()) found.values.emplace_back(name);
  return acting->second->end_here(found);
}

bool Router::Node::walk(const std::vector<std::string_view>& segments, std::size_t index,
                        Match& found) const {
  if (index == segments.size()) return end_here(found);
  std::string_view segment = segments[index];
  bool last = index + 1 == segments.size();
  auto literal = literals.find(segment);
  if (literal != literals.end() && literal->second->walk(segments, index + 1, found)) return true;
  if (last && walk_action(segment, found)) return true;
  auto acting = actions.find(segment);
  if (last && acting != actions.end()) return acting->second->end_here(found);
  if (parameter == nullptr || segment.empty()) return false;
  found.values.emplace_back(segment);
  if (parameter->walk(segments, index + 1, found)) return true;
  found.values.pop_back();
  return false;
}

Router::Router() : root_(std::make_unique<Node>()) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;

void Router::add(Method method, std::string_view pattern, Handler handler) {
  CHECK(pattern.starts_with('/'), "a pattern begins with /");
  CHECK(handler != nullptr, "a route needs a handler");
  Route route{{}, std::move(handler)};
  Node* node = root_.get();
  for (std::string_view segment : split(pattern)) {
    std::string_view action;
    if (auto parts = split_action(segment)) std::tie(segment, action) = *parts;
    std::unique_ptr<Node>& child =
        is_parameter(segment) ? node->parameter : node->literals[std::string(segment)];
    if (child == nullptr) child = std::make_unique<Node>();
    node = child.get();
    if (is_parameter(segment)) {
      route.names.emplace_back(segment.substr(1, segment.size() - 2));
    }
    if (action.empty()) continue;
    std::unique_ptr<Node>& acting = node->actions[std::string(action)];
    if (acting == nullptr) acting = std::make_unique<Node>();
    node = acting.get();
  }
  bool fresh = node->routes.emplace(method, std::move(route)).second;
  CHECK(fresh, "a pattern is registered twice for one method");
}

void Router::get(std::string_view pattern, Handler handler) {
  add(Method::kGet, pattern, std::move(handler));
}
void Router::post(std::string_view pattern, Handler handler) {
  add(Method::kPost, pattern, std::move(handler));
}
void Router::put(std::string_view pattern, Handler handler) {
  add(Method::kPut, pattern, std::move(handler));
}
void Router::del(std::string_view pattern, Handler handler) {
  add(Method::kDelete, pattern, std::move(handler));
}

Router::Match Router::match(const std::string& path) const {
  Match found;
  root_->walk(split(path), 0, found);
  return found;
}

Async<Reply> Router::handle(Request request) const {
  Match found = match(request.path);
  if (found.node == nullptr) {
    return answer(problem(
        Error(Errc::kNotFound, "there is nothing at " + request.path).with_value(request.path)));
  }
  const std::map<Method, Route>& routes = found.node->routes;
  auto route = routes.find(request.method);
  if (route == routes.end() && request.method == Method::kHead) route = routes.find(Method::kGet);
  if (route == routes.end()) return answer(not_allowed(request, found));
  const std::vector<std::string>& names = route->second.names;
  CHECK(names.size() == found.values.size(), "a route and its match differ in parameters");
  for (std::size_t i = 0; i < names.size(); ++i) {
    request.params.emplace_back(names[i], std::move(found.values[i]));
  }
  return route->second.handler(std::move(request));
}

Response Router::not_allowed(const Request& request, const Match& found) {
  std::string allowed;
  for (const auto& [method, route] : found.node->routes) {
    if (!allowed.empty()) allowed += ", ";
    allowed += to_string(method);
  }
  Response response = problem(
      Error(Errc::kInvalid, std::string(to_string(request.method)) + " is not possible here")
          .with_value(request.path)
          .with_hint("use " + allowed),
      405);
  response.headers.add("Allow", allowed);
  return response;
}

}  // namespace runnel::http
