#include "fuse/mount_server.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "async/socket.h"
#include "async/together.h"
#include "env/clock.h"
#include "env/random.h"
#include "fuse/mount_point.h"
#include "fuse/serve_branch.h"
#include "fuse/serve_mount.h"
#include "volume_server/pack_service.h"

namespace runnel::fuse {

using volume_server::deliver_news;
using volume_server::HandedMount;
using volume_server::MountNews;
using volume_server::MountRequest;
using volume_server::receive_mount;
using volume_server::send_news;

namespace {

bool may_ask(int connection) {
  const auto user = async::peer_user(connection);
  return user && (*user == ::geteuid() || *user == 0);
}

Result<std::string> bytes_of(const async::UniqueFd& first_message) {
  std::string bytes(kFirstMessageMax, '\0');
  const ssize_t size = ::pread(first_message.get(), bytes.data(), bytes.size(), 0);
  if (size <= 0) return Error(Errc::kInvalid, "a mount was handed over without its first message");
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}

}  // namespace

MountServer::MountServer(async::EventLoop& loop, std::string socket,
                         std::function<void(const std::string&)> say)
    : loop_(loop),
      socket_(std::move(socket)),
      say_(std::move(say)),
      resources_(loop),
      until_idle_(loop),
      serving_(loop) {}

Async<void> MountServer::run(async::StopToken stop) {
  const async::UniqueFd listener = CO_TRY(async::listen_unix(socket_));
  const auto end = [this] { idle_.stop(); };
  const async::StopCallback at_stop(stop, end);
  until_idle_.start(kIdle, end);
  const Result<void> accepted = co_await accept_until_idle(listener.get());
  async::remove_unix_socket(socket_, listener);
  until_idle_.cancel();
  CO_TRY(co_await serving_.close());
  co_return accepted;
}

Async<void> MountServer::accept_until_idle(int listener) {
  while (true) {
    const Result<void> ready = co_await loop_.readable(listener, idle_.token());
    if (idle_.token().stopped()) co_return {};
    CO_TRY(Result<void>(ready));
    Result<void> accepted = accept_all(listener);
    if (!accepted.ok()) CO_TRY(co_await wait_for_room(accepted.error()));
    has_room_ = accepted.ok();
  }
}

// kIo when there is one more that this process cannot have now.
Result<void> MountServer::accept_all(int listener) {
  while (true) {
    const int connection = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (connection >= 0) {
      accept(async::UniqueFd(connection));
    } else if (errno == EAGAIN) {
      return {};
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return errno_error("accept who asks for a mount", errno);
    }
  }
}

void MountServer::accept(async::UniqueFd connection) {
  if (!may_ask(connection.get())) return;
  (void)loop_.spawn(serving_, serve(std::move(connection)));  // Refused while it ends.
}

// The listener stays readable: without a pause the loop would do nothing but ask again.
Async<void> MountServer::wait_for_room(Error error) {
  if (has_room_) say_(error.to_string());
  const Result<void> slept = co_await loop_.sleep(kNoRoomPause, idle_.token());
  if (!slept.ok() && slept.error().code != Errc::kCancelled) co_return slept;
  co_return {};
}

void MountServer::begin_mount() {
  ++mounts_;
  until_idle_.cancel();
}

void MountServer::end_mount() {
  if (--mounts_ == 0) until_idle_.start(kIdle, [this] { idle_.stop(); });
}

// A server that ends leaves its mounts to the next one, without a word to their holders.
Async<void> MountServer::serve(async::UniqueFd connection) {
  Result<HandedMount> mount =
      co_await receive_mount(loop_, connection.get(), kRequestPatience, serving_.token());
  const bool is_branch = mount.ok() && !mount->request.branch.empty();
  Result<void> served =
      mount.ok() ? co_await serve_counted(connection.get(), *std::move(mount)) : mount.error();
  if (serving_.token().stopped()) co_return {};
  MountNews last{MountNews::Kind::kEnded, ""};
  // A branch that is another one's by now is so for the next server, too.
  const bool is_lost = is_branch && !served.ok() && served.error().code == Errc::kConflict;
  if (!served.ok()) {
    last = {is_lost ? MountNews::Kind::kEnded : MountNews::Kind::kFailed,
            served.error().to_string()};
  }
  co_return co_await deliver_news(loop_, connection.get(), std::move(last), serving_.token());
}

Async<void> MountServer::serve_counted(int connection, HandedMount mount) {
  begin_mount();
  Result<void> served = co_await serve_handed(connection, std::move(mount));
  end_mount();
  co_return served;
}

Async<void> MountServer::serve_handed(int connection, HandedMount mount) {
  const MountRequest request = mount.request;
  MountResources::Store* const store = CO_TRY(co_await resources_.hold_store(request));
  Result<void> served = co_await serve_from(connection, mount, *store);
  MUST(co_await resources_.release_store(request));
  co_return served;
}

Async<void> MountServer::serve_from(int connection, HandedMount& mount,
                                    MountResources::Store& store) {
  const MountRequest request = mount.request;
  volume::VolumeContext context{store.opened->store(), env::real_clock(),  env::real_random(),
                                serving_.token(),      store.others.get(), volume::real_processes(),
                                resources_.memory()};
  const bool is_seen = request.head && !request.takes_over;
  volume::Volume volume =
      CO_TRY(is_seen ? co_await volume::Volume::open_seen(context, request.volume, *request.head)
                     : co_await volume::Volume::open(context, request.volume));
  if (request.warm_up) co_return co_await warm_up(connection, request, volume);
  if (request.reads_packs) co_return co_await serve_packs(connection, request, volume);
  co_return co_await serve_volume(connection, mount, volume);
}

namespace {

// Ends, with an error, when the other end is gone.
Async<volume::WarmUp> until_gone(async::EventLoop& loop, int connection, async::StopToken stop) {
  for (char byte = 0;;) {
    CO_TRY(co_await loop.readable(connection, stop));
    const ssize_t got = ::recv(connection, &byte, 1, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR)) break;
  }
  co_return Error(Errc::kCancelled, "who asked is gone");
}

}  // namespace

Async<void> MountServer::warm_up(int connection, const MountRequest& request,
                                 volume::Volume& volume) {
  volume::DiskCache* const cache = CO_TRY(co_await resources_.hold_cache(request));
  const Result<volume::WarmUp> done = co_await warm_up_for(connection, request, volume, *cache);
  MUST(co_await resources_.release_cache(request));
  MountNews last{MountNews::Kind::kWarming, "", CO_TRY(Result<volume::WarmUp>(done))};
  co_return co_await deliver_news(loop_, connection, std::move(last), serving_.token());
}

Async<volume::WarmUp> MountServer::warm_up_for(int connection, MountRequest request,
                                               volume::Volume& volume, volume::DiskCache& cache) {
  const auto work = [&](async::StopToken stop) {
    return volume::warm_up(
        loop_, volume, request.version, *request.warm_up, cache,
        [connection](const volume::WarmUp& now) {
          send_news(connection, {MountNews::Kind::kWarming, "", now});
        },
        std::move(stop));
  };
  const auto gone = [&](async::StopToken stop) {
    return until_gone(loop_, connection, std::move(stop));
  };
  async::Raced<volume::WarmUp> first =
      CO_TRY(co_await async::race<volume::WarmUp>(loop_, {work, gone}, serving_.token()));
  co_return std::move(first.result);
}

Async<void> MountServer::serve_packs(int connection, MountRequest request, volume::Volume& volume) {
  const std::string uuid = volume.head().uuid;
  async::UniqueFd own(::fcntl(connection, F_DUPFD_CLOEXEC, 0));
  if (!own.valid()) co_return errno_error("copy a descriptor", errno);
  Result<volume::PackCache*> held = co_await resources_.hold_packs(request, uuid, volume.ranges());
  if (!held.ok() && volume::is_taken_cache(held.error())) {  // By one that reads by itself.
    request.cache.clear();
    held = co_await resources_.hold_packs(request, uuid, volume.ranges());
  }
  volume::PackCache* const packs = CO_TRY(std::move(held));
  send_news(connection, {MountNews::Kind::kServing, ""});
  volume_server::PackService service(loop_, std::move(own), *packs);
  const Result<void> served = co_await service.serve(serving_.token());
  MUST(co_await resources_.release_packs(request, uuid));
  co_return served;
}

Async<void> MountServer::serve_volume(int connection, HandedMount& mount, volume::Volume& volume) {
  const MountRequest request = mount.request;
  const std::string uuid = volume.head().uuid;
  ServeOptions options;
  options.version = request.version;
  options.folder = request.folder;
  options.connection = std::move(mount.connection);
  if (!request.is_unmounted) options.first_message = CO_TRY(bytes_of(mount.first_message));
  options.takes_over = request.takes_over;
  options.logs = request.log;
  options.branch = request.branch;
  options.term = request.term;
  options.from_base = request.from_base;
  options.connection_number = static_cast<std::uint64_t>(request.connection);
  options.say = [this, connection, &request](const std::string& sentence, bool is_damage) {
    tell_error(connection, request, sentence, is_damage);
  };
  options.serving = [connection] { send_news(connection, {MountNews::Kind::kServing, ""}); };
  volume::PackCache* const packs =
      CO_TRY(co_await resources_.hold_packs(request, uuid, volume.ranges()));
  Result<void> served = co_await serve_by(volume, *packs, std::move(options), request);
  MUST(co_await resources_.release_packs(request, uuid));
  co_return served;
}

Async<void> MountServer::serve_by(volume::Volume& volume, volume::PackCache& packs,
                                  ServeOptions options, const MountRequest& request) {
  const async::StopToken stop = serving_.token();
  if (request.log.empty()) {
    return serve_mount(loop_, volume, packs, std::move(options), stop);
  }
  return request.is_unmounted ? publish_branch(loop_, volume, packs, std::move(options), stop)
                              : serve_branch(loop_, volume, packs, std::move(options), stop);
}

void MountServer::tell_error(int connection, const MountRequest& request,
                             const std::string& sentence, bool is_damage) const {
  say_(request.folder + ": a request failed: " + sentence);
  if (!request.hears_errors) return;
  send_news(connection,
            {is_damage ? MountNews::Kind::kDamaged : MountNews::Kind::kUnread, sentence});
}

}  // namespace runnel::fuse
