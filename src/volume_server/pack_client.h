#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "async/abandonable_call.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/stop_token.h"
#include "async/stream.h"
#include "base/units.h"
#include "env/process.h"
#include "volume/pack_server.h"
#include "volume_server/mount_request.h"
#include "volume_server/pack_frames.h"

namespace runnel::volume_server {

// Who serves the volumes of a home, and is started where nobody does.
struct ServerPlace {
  std::string socket;
  env::DetachedProcess process;
  Duration starts_within = Duration::seconds(3);
};

// Parts of a volume's packs by way of the process that serves the volumes of a home, which has them
// for all that read on this machine.
//
// Contract: nobody depends on the server: what it does not give is the reader's own to fetch, and
//           meanwhile another one is looked for, or started, without holding anybody up. One that
//           says nothing for kSilence while it is asked counts as dead. Where none serves, and
//           where one dies without an answer, none is looked for in the next kPauseMin, which
//           doubles up to kPauseMax.
// Threads:  the loop's only; a server is started by a thread of its own.
// Lifetime: the loop outlives it. close() is awaited before destruction.
class PackClient : public volume::PackServer {
 public:
  static constexpr Duration kSilence = Duration::seconds(10);
  static constexpr Duration kBeginsWithin = Duration::seconds(5);
  static constexpr Duration kPauseMin = Duration::seconds(10);
  static constexpr Duration kPauseMax = Duration::minutes(5);
  // Of a server that has tried for so long the error is the reader's: the store is away.
  static constexpr Duration kIsEnough = Duration::seconds(20);

  // `request`: of the volume and its cache.
  PackClient(async::EventLoop& loop, ServerPlace place, MountRequest request);
  ~PackClient() override;

  // Waits for a server. Whether there is one.
  Async<bool> connect(async::StopToken stop);
  Async<bool> read(volume::ObjectRange range, std::span<char> into, Wish wish,
                   async::StopToken stop) override;
  Async<void> close();

 private:
  // A question that is under way.
  struct Pending {
    std::span<char> into;
    std::optional<Error> error;
    bool is_answered = false;
    bool is_lost = false;  // With its connection.
  };
  // To one server.
  struct Connection {
    Connection(async::EventLoop& loop, async::UniqueFd socket)
        : stream(loop, std::move(socket)), silence(loop) {}
    async::Stream stream;
    async::Timer silence;
    std::map<std::uint64_t, Pending*> pending;  // By number.
    bool has_answered = false;
  };
  using ConnectionPtr = std::shared_ptr<Connection>;

  void look_for_another();
  Async<void> connect_behind();
  Async<ConnectionPtr> begin_connection(async::StopToken stop);
  Async<async::UniqueFd> connect_socket(async::StopToken stop);
  Result<void> start_server();
  static Async<void> wait_until_served(ConnectionPtr connection, async::StopToken stop);
  void pause();

  void ask(Connection& connection, Pending& pending, const volume::ObjectRange& range, Wish wish);
  Async<void> wait_for(ConnectionPtr connection, Pending& pending, async::StopToken stop);
  Async<void> take_answers(ConnectionPtr connection);
  Async<void> take_answer(Connection& connection);
  static Async<void> take_error(async::Stream& stream, PackAnswer head, Pending& pending);
  static void watch(Connection& connection);

  async::EventLoop& loop_;
  const ServerPlace place_;
  const MountRequest request_;
  ConnectionPtr connection_;  // None: nobody is asked at the moment.
  bool is_connecting_ = false;
  bool is_first_start_ = true;
  async::Timer pause_;  // Until it has ended nobody is looked for.
  Duration pause_length_ = kPauseMin;
  std::uint64_t next_number_ = 1;
  std::vector<async::AbandonableCall> starting_;
  async::Notifier changed_;
  async::Gate working_;
};

}  // namespace runnel::volume_server
