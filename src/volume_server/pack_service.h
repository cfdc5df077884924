#pragma once

#include <cstdint>
#include <deque>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/stop_token.h"
#include "async/stream.h"
#include "async/unique_fd.h"
#include "base/units.h"
#include "volume/pack_cache.h"
#include "volume_server/pack_frames.h"

namespace runnel::volume_server {

// Gives parts of a volume's packs to one process that asks for them over a connection, out of a
// cache that it shares with all others of the machine.
//
// Contract: each question is answered once, in any order. Who waits hears something each
//           kBeatEvery.
// Threads:  the loop's only.
// Lifetime: loop and cache outlive it; serve() ends before destruction.
// Limits:   answers to kUnderWayMax bytes in kQuestionsMax questions are prepared at a time, or to
//           one.
class PackService {
 public:
  static constexpr std::uint64_t kUnderWayMax = 32 << 20;
  static constexpr int kQuestionsMax = 64;
  static constexpr Duration kBeatEvery = Duration::seconds(1);

  PackService(async::EventLoop& loop, async::UniqueFd connection, volume::PackCache& packs);
  // Until the other end is gone, or `stop`. kInvalid for what is no question.
  Async<void> serve(async::StopToken stop);

 private:
  struct Answer {
    PackQuestion question;
    Result<volume::HeldBytes> bytes;
  };
  Async<void> take_questions(async::StopToken stop);
  bool has_room(const PackQuestion& question) const;
  void beat();
  Async<void> prepare(PackQuestion question);
  Async<void> give_answers(async::StopToken stop);
  Async<void> give(Answer answer);
  Async<void> send_error(std::uint64_t number, const Error& error);
  Async<void> send(PackAnswer head, std::string_view bytes);

  async::EventLoop& loop_;
  async::Stream stream_;
  volume::PackCache& packs_;
  async::Gate preparing_;
  async::Notifier changed_;
  async::Timer until_beat_;
  bool is_beat_due_ = false;
  std::deque<Answer> answers_;   // That are to be sent.
  std::uint64_t under_way_ = 0;  // Bytes of questions that were taken and not answered.
  int questions_ = 0;            // The same, counted.
};

}  // namespace runnel::volume_server
