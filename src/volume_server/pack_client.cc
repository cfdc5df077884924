#include "volume_server/pack_client.h"

#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "async/socket.h"
#include "async/together.h"
#include "base/check.h"
#include "env/clock.h"
#include "env/files.h"

namespace runnel::volume_server {
namespace {

constexpr Duration kLookEvery = Duration::millis(5);  // For a server that was started.
constexpr std::uint32_t kSentenceMax = 64 << 10;

Error no_answer() { return {Errc::kCorrupt, "what the server of volumes sends is no answer"}; }

// It was about to end when it was asked.
bool has_ended(const Error& error) { return error.code == Errc::kUnavailable; }

}  // namespace

PackClient::PackClient(async::EventLoop& loop, ServerPlace place, MountRequest request)
    : loop_(loop),
      place_(std::move(place)),
      request_(std::move(request)),
      pause_(loop),
      changed_(loop),
      working_(loop) {}

PackClient::~PackClient() { CHECK(connection_ == nullptr, "a client of packs is still connected"); }

Async<void> PackClient::close() {
  if (connection_ != nullptr) connection_->stream.interrupt();
  co_return co_await working_.close();
}

// --- Connections.

Async<bool> PackClient::connect(async::StopToken stop) {
  while (is_connecting_) CO_TRY(co_await changed_.wait(stop));
  if (connection_ != nullptr) co_return true;
  if (pause_.active() || working_.closed()) co_return false;
  is_connecting_ = true;
  Result<ConnectionPtr> begun = co_await begin_connection(stop);
  const bool is_late = !begun.ok() && has_ended(begun.error());
  if (is_late) begun = co_await begin_connection(stop);
  is_connecting_ = false;
  changed_.notify_all();
  CO_TRY(stop.check());
  if (!begun.ok() || !loop_.spawn(working_, take_answers(*begun)).ok()) {
    pause();
    co_return false;
  }
  connection_ = *std::move(begun);
  co_return true;
}

void PackClient::look_for_another() {
  if (is_connecting_ || pause_.active()) return;
  (void)loop_.spawn(working_, connect_behind());  // Refused while it ends.
}

Async<void> PackClient::connect_behind() {
  (void)co_await connect(working_.token());
  co_return {};
}

void PackClient::pause() {
  pause_.start(pause_length_, [] {});
  pause_length_ = std::min(pause_length_ * 2, kPauseMax);
}

Async<PackClient::ConnectionPtr> PackClient::begin_connection(async::StopToken stop) {
  async::UniqueFd socket = CO_TRY(co_await connect_socket(stop));
  CO_TRY(send_alone(socket.get(), request_));
  const auto connection = std::make_shared<Connection>(loop_, std::move(socket));
  const auto wait = [&connection](async::StopToken token) {
    return wait_until_served(connection, std::move(token));
  };
  CO_TRY(co_await async::with_timeout<void>(loop_, kBeginsWithin, wait, std::move(stop)));
  co_return connection;
}

Async<async::UniqueFd> PackClient::connect_socket(async::StopToken stop) {
  Result<async::UniqueFd> connected = async::connect_unix(place_.socket);
  const bool is_nobody = !connected.ok() && connected.error().code == Errc::kUnavailable;
  if (!is_nobody) co_return std::move(connected);
  CO_TRY(start_server());
  for (Duration waited; !connected.ok() && waited < place_.starts_within;
       waited = waited + kLookEvery) {
    CO_TRY(co_await loop_.sleep(kLookEvery, stop));
    connected = async::connect_unix(place_.socket);
  }
  if (!connected.ok()) co_return Error(Errc::kTimeout, "no server of volumes has begun");
  co_return std::move(connected);
}

// By a thread that may stay behind: whoever forks beside it, as any thread of this process may,
// holds up whoever waits for the start.
Result<void> PackClient::start_server() {
  // A home that was removed since stays so.
  const bool may_make_home = std::exchange(is_first_start_, false);
  const auto start = [place = place_, may_make_home] {
    const std::string home = env::parent_of(place.socket);
    const bool is_there =
        may_make_home ? env::make_directories(home, env::Access::kOwner).ok() : env::exists(home);
    if (is_there) (void)env::spawn_detached(place.process);
  };
  starting_.push_back(TRY(async::AbandonableCall::start(loop_, "runnel-start", start, [] {})));
  return {};
}

Async<void> PackClient::wait_until_served(ConnectionPtr connection, async::StopToken stop) {
  const async::StopCallback at_stop(stop, [&connection] { connection->stream.interrupt(); });
  const MountNews news = CO_TRY(co_await next_news(connection->stream));
  if (news.kind == MountNews::Kind::kServing) co_return {};
  co_return Error(Errc::kUnsupported, "the server of volumes gives no packs: " + news.why);
}

// --- Questions.

Async<bool> PackClient::read(volume::ObjectRange range, std::span<char> into, Wish wish,
                             async::StopToken stop) {
  CHECK(into.size() == range.length, "a range is read into as many bytes");
  CHECK(!range.linked, "a server of packs has no linked objects");
  if (into.size() > kRangeMax) co_return false;
  const ConnectionPtr connection = connection_;
  if (connection == nullptr) {
    look_for_another();
    co_return false;
  }
  Pending pending{into};
  const Duration begun = env::real_clock().boot();
  ask(*connection, pending, range, wish);
  CO_TRY(co_await wait_for(connection, pending, stop));
  CO_TRY(stop.check());
  const bool is_enough = env::real_clock().boot() - begun >= kIsEnough;
  if (pending.error && is_enough) co_return *pending.error;
  co_return pending.is_answered && !pending.error;
}

void PackClient::ask(Connection& connection, Pending& pending, const volume::ObjectRange& range,
                     Wish wish) {
  const bool is_anew = wish.freshness == volume::Freshness::kAnew;
  const bool is_expected = wish.urgency == volume::Urgency::kExpected;
  const PackQuestion question{next_number_++, range.object.bytes, range.offset,
                              range.length,   is_anew ? 1U : 0U,  is_expected ? 1U : 0U};
  connection.pending.emplace(question.number, &pending);
  if (connection.pending.size() == 1) watch(connection);
  const auto bytes = std::bit_cast<FrameBytes<PackQuestion>>(question);
  const ssize_t sent = ::send(connection.stream.descriptor(), bytes.data(), bytes.size(),
                              MSG_DONTWAIT | MSG_NOSIGNAL);
  // One that takes no more of so few bytes does not serve.
  if (sent != std::ssize(bytes)) connection.stream.interrupt();
}

// The bytes may be written until the answer is here or the connection has ended.
Async<void> PackClient::wait_for(ConnectionPtr connection, Pending& pending,
                                 async::StopToken stop) {
  const async::StopCallback at_stop(stop, [&connection] { connection->stream.interrupt(); });
  while (!pending.is_answered && !pending.is_lost) CO_TRY(co_await changed_.wait());
  co_return {};
}

// --- Answers.

Async<void> PackClient::take_answers(ConnectionPtr connection) {
  while ((co_await take_answer(*connection)).ok()) {
  }
  connection->silence.cancel();
  const bool was_in_vain = !connection->has_answered && !connection->pending.empty();
  for (const auto& [number, pending] : connection->pending) pending->is_lost = true;
  connection->pending.clear();
  if (connection_ == connection) connection_ = nullptr;
  if (was_in_vain) pause();
  changed_.notify_all();
  co_return {};
}

Async<void> PackClient::take_answer(Connection& connection) {
  const auto head = CO_TRY(co_await read_frame<PackAnswer>(connection.stream));
  watch(connection);
  if (head.number == 0) co_return {};
  const auto found = connection.pending.find(head.number);
  if (found == connection.pending.end()) co_return no_answer();
  Pending& pending = *found->second;
  if (head.is_error == 0) {
    if (head.size != pending.into.size()) co_return no_answer();
    CO_TRY(co_await read_whole(connection.stream, pending.into));
    connection.has_answered = true;
    pause_length_ = kPauseMin;
  } else {
    CO_TRY(co_await take_error(connection.stream, head, pending));
  }
  pending.is_answered = true;
  connection.pending.erase(head.number);
  watch(connection);
  changed_.notify_all();
  co_return {};
}

Async<void> PackClient::take_error(async::Stream& stream, PackAnswer head, Pending& pending) {
  if (head.size > kSentenceMax) co_return no_answer();
  std::string sentence(head.size, '\0');
  CO_TRY(co_await read_whole(stream, sentence));
  pending.error.emplace(Errc::kUnavailable, std::move(sentence));
  co_return {};
}

void PackClient::watch(Connection& connection) {
  if (connection.pending.empty()) return connection.silence.cancel();
  connection.silence.start(kSilence, [&connection] { connection.stream.interrupt(); });
}

}  // namespace runnel::volume_server
