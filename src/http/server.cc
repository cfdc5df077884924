#include "http/server.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "async/abandonable_call.h"
#include "async/event.h"
#include "async/gate.h"
#include "async/socket.h"
#include "async/stop_token.h"
#include "async/stream.h"
#include "base/check.h"
#include "http/detail/connection.h"

namespace runnel::http {

namespace {

constexpr Duration kAcceptPause = Duration::millis(100);  // When out of descriptors.

// A quarter of the shortest limit: coarse, since deadlines only guard against dead peers.
Duration tick_length(const ServerLimits& limits) {
  Duration shortest = std::min({limits.idle_max, limits.request_max, limits.write_stall_max});
  return std::clamp(Duration::millis(shortest.millis() / 4), Duration::millis(5),
                    Duration::seconds(1));
}

}  // namespace

struct Server::Impl {
  Impl(async::EventLoop& owner, Handler chosen_handler, ServerLimits chosen_limits)
      : loop(owner),
        handler(std::move(chosen_handler)),
        limits(chosen_limits),
        clock{.length = tick_length(chosen_limits)},
        host{owner, handler, limits, clock, stop_source.token()},
        gate(owner),
        room(owner),
        ticker(owner) {
    CHECK(handler != nullptr, "a server needs a handler");
    CHECK(limits.connections_max > 0, "a server needs room for a connection");
  }

  int count() const { return static_cast<int>(connections.size()); }
  void add(detail::Connection& connection);
  void remove(detail::Connection& connection);
  void tick();
  Result<const async::Listener*> listen(async::UniqueFd socket);
  Async<void> accept_loop(std::unique_ptr<async::Listener> listener);
  Async<async::UniqueFd> next_client(async::Listener& listener);
  Async<void> serve(async::UniqueFd descriptor);
  Async<void> remove_socket_files(Duration most);
  void begin_stop();
  void cut_all();

  async::EventLoop& loop;
  const Handler handler;
  const ServerLimits limits;
  detail::TickClock clock;
  async::StopSource stop_source;
  const detail::ConnectionHost host;

  std::vector<detail::Connection*> connections;  // Each lives in the frame of its serve().
  std::vector<std::pair<std::string, const async::Listener*>> socket_files;
  int admitted = 0;  // Counted when accepted, so one turn of the loop cannot admit too many.
  std::function<void(int)> observer;
  async::Gate gate;
  async::Notifier room;  // Told when a connection has ended.
  async::Timer ticker;   // Runs while there are connections.
};

void Server::Impl::add(detail::Connection& connection) {
  connections.push_back(&connection);
  if (!ticker.active()) ticker.start(clock.length, [this] { tick(); });
  if (observer) observer(count());
}

void Server::Impl::remove(detail::Connection& connection) {
  CHECK(std::erase(connections, &connection) == 1, "a connection is listed once");
  --admitted;
  if (connections.empty()) ticker.cancel();
  room.notify_one();
  if (observer) observer(count());
}

void Server::Impl::tick() {
  ++clock.now;
  for (detail::Connection* connection : connections) connection->tick();
  ticker.start(clock.length, [this] { tick(); });
}

Result<const async::Listener*> Server::Impl::listen(async::UniqueFd socket) {
  auto listener = std::make_unique<async::Listener>(loop, std::move(socket));
  const async::Listener* borrowed = listener.get();  // Lives until the token stops.
  TRY(loop.spawn(gate, accept_loop(std::move(listener))));
  return borrowed;
}

Async<void> Server::Impl::accept_loop(std::unique_ptr<async::Listener> listener) {
  while (true) {
    async::UniqueFd descriptor = CO_TRY(co_await next_client(*listener));
    ++admitted;
    CO_TRY(loop.spawn(gate, serve(std::move(descriptor))));
  }
}

// Waits for room, for a client, and through a shortage of descriptors.
Async<async::UniqueFd> Server::Impl::next_client(async::Listener& listener) {
  async::StopToken stopping = stop_source.token();
  while (true) {
    if (admitted >= limits.connections_max) {
      CO_TRY(co_await room.wait(stopping));
      continue;
    }
    Result<async::UniqueFd> client = co_await listener.accept(stopping);
    if (client.ok() || client.error().code != Errc::kFull) co_return client;
    CO_TRY(co_await loop.sleep(kAcceptPause, stopping));
  }
}

// A connection that breaks is the client's affair: it ends this work and nothing else.
Async<void> Server::Impl::serve(async::UniqueFd descriptor) {
  detail::Connection connection(host, std::move(descriptor));
  add(connection);
  (void)co_await connection.serve();
  remove(connection);
  co_return {};
}

// On threads of their own, which are left alone when they do not return: a mount may lie over the
// folder by now, and be dead. The listeners listen until then.
Async<void> Server::Impl::remove_socket_files(Duration most) {
  async::Notifier removed(loop);
  std::vector<async::AbandonableCall> calls;
  std::size_t left = 0;
  for (const auto& [path, listener] : std::exchange(socket_files, {})) {
    const auto copy =
        std::make_shared<const async::UniqueFd>(CO_TRY(listener->descriptor().duplicate()));
    auto call = async::AbandonableCall::start(
        loop, "socket-file", [file = path, copy] { async::remove_unix_socket(file, *copy); },
        [&left, &removed] {
          --left;
          removed.notify_all();
        });
    if (!call.ok()) continue;  // The next server replaces the file.
    ++left;
    calls.push_back(*std::move(call));
  }
  while (left > 0) {
    const async::Wake wake = CO_TRY(co_await removed.wait_for(most));
    if (wake == async::Wake::kTimeout) break;
  }
  co_return {};
}

void Server::Impl::begin_stop() {
  stop_source.stop();
  for (detail::Connection* connection : connections) connection->finish_soon();
}

void Server::Impl::cut_all() {
  for (detail::Connection* connection : connections) connection->cut();
}

Server::Server(async::EventLoop& loop, Handler handler, ServerLimits limits)
    : impl_(std::make_unique<Impl>(loop, std::move(handler), limits)) {}

Server::~Server() {
  CHECK(impl_->gate.inside() == 0, "a server was destroyed before its stop() was awaited");
}

Result<void> Server::listen_unix(const std::string& path) {
  async::UniqueFd socket = TRY(async::listen_unix(path));
  const async::Listener* listener = TRY(impl_->listen(std::move(socket)));
  impl_->socket_files.emplace_back(path, listener);
  return {};
}

Result<std::uint16_t> Server::listen_tcp(const std::string& address, std::uint16_t port) {
  async::UniqueFd socket = TRY(async::listen_tcp(address, port));
  std::uint16_t bound = TRY(async::local_port(socket.get()));
  TRY(impl_->listen(std::move(socket)));
  return bound;
}

int Server::connections() const { return impl_->count(); }

void Server::on_connections_changed(std::function<void(int)> observer) {
  impl_->observer = std::move(observer);
}

Async<void> Server::stop(Duration deadline) {
  const Result<void> removed = co_await impl_->remove_socket_files(deadline);
  if (!impl_->stop_source.stopped()) impl_->begin_stop();
  async::Timer cut(impl_->loop);
  Impl& impl = *impl_;
  cut.start(deadline, [&impl] { impl.cut_all(); });
  MUST(co_await impl.gate.close());
  co_return removed;
}

}  // namespace runnel::http
