#include "volume_server/pack_service.h"

#include <bit>
#include <string>
#include <utility>

#include "async/together.h"
#include "base/check.h"
#include "volume/extent.h"

namespace runnel::volume_server {
namespace {

volume::ObjectRange range_of(const PackQuestion& question) {
  return {volume::ObjectId{question.object}, question.offset, question.length};
}

Result<void> check(const PackQuestion& question) {
  const bool is_range =
      question.length > 0 && question.length <= kRangeMax && question.offset <= volume::kPackEndMax;
  const bool is_one = is_range && question.number != 0;
  if (is_one) return {};
  return Error(Errc::kInvalid, "what was sent is no question for a part of a pack");
}

bool is_gone(const Result<void>& served) {
  return !served.ok() && served.error().code == Errc::kUnavailable;
}

}  // namespace

PackService::PackService(async::EventLoop& loop, async::UniqueFd connection,
                         volume::PackCache& packs)
    : loop_(loop),
      stream_(loop, std::move(connection)),
      packs_(packs),
      preparing_(loop),
      changed_(loop),
      until_beat_(loop) {}

Async<void> PackService::serve(async::StopToken stop) {
  const auto take = [this](async::StopToken token) { return take_questions(std::move(token)); };
  const auto give = [this](async::StopToken token) { return give_answers(std::move(token)); };
  async::Raced<void> first =
      CO_TRY(co_await async::race<void>(loop_, {take, give}, std::move(stop)));
  MUST(co_await preparing_.close());
  if (is_gone(first.result)) co_return {};
  co_return std::move(first.result);
}

// A read has no token: the stream is interrupted.
Async<void> PackService::take_questions(async::StopToken stop) {
  const async::StopCallback at_stop(stop, [this] { stream_.interrupt(); });
  while (true) {
    CO_TRY(stop.check());
    const auto question = CO_TRY(co_await read_frame<PackQuestion>(stream_));
    CO_TRY(check(question));
    while (!has_room(question)) CO_TRY(co_await changed_.wait(stop));
    under_way_ += question.length;
    if (questions_++ == 0) beat();
    CO_TRY(loop_.spawn(preparing_, prepare(question)));
  }
}

bool PackService::has_room(const PackQuestion& question) const {
  if (questions_ == 0) return true;
  return questions_ < kQuestionsMax && under_way_ + question.length <= kUnderWayMax;
}

// While somebody waits.
void PackService::beat() {
  until_beat_.start(kBeatEvery, [this] {
    is_beat_due_ = questions_ > 0;
    if (!is_beat_due_) return;
    changed_.notify_all();
    beat();
  });
}

Async<void> PackService::prepare(PackQuestion question) {
  const volume::ObjectRange range = range_of(question);
  const auto urgency =
      question.is_expected != 0 ? volume::Urgency::kExpected : volume::Urgency::kWaitedFor;
  Result<volume::HeldBytes> bytes =
      question.is_anew != 0 ? co_await packs_.read_anew(range, preparing_.token())
                            : co_await packs_.read(range, range, urgency, preparing_.token());
  answers_.push_back({question, std::move(bytes)});
  changed_.notify_all();
  co_return {};
}

Async<void> PackService::give_answers(async::StopToken stop) {
  const async::StopCallback at_stop(stop, [this] { stream_.interrupt(); });
  while (true) {
    if (!answers_.empty()) {
      Answer next = std::move(answers_.front());
      answers_.pop_front();
      CO_TRY(co_await give(std::move(next)));
    } else if (std::exchange(is_beat_due_, false)) {
      CO_TRY(co_await send({}, ""));
    } else {
      CO_TRY(co_await changed_.wait(stop));
    }
  }
}

Async<void> PackService::give(Answer answer) {
  const std::uint64_t number = answer.question.number;
  if (answer.bytes.ok()) {
    const std::string_view bytes = answer.bytes->bytes;
    CO_TRY(co_await send({number, static_cast<std::uint32_t>(bytes.size())}, bytes));
  } else {
    CO_TRY(co_await send_error(number, answer.bytes.error()));
  }
  CHECK(questions_ > 0 && under_way_ >= answer.question.length, "an answer without a question");
  under_way_ -= answer.question.length;
  --questions_;
  changed_.notify_all();
  co_return {};
}

Async<void> PackService::send_error(std::uint64_t number, const Error& error) {
  const std::string text = error.to_string();
  co_return co_await send({number, static_cast<std::uint32_t>(text.size()), 1}, text);
}

Async<void> PackService::send(PackAnswer head, std::string_view bytes) {
  const auto begin = std::bit_cast<FrameBytes<PackAnswer>>(head);
  CO_TRY(co_await stream_.write_all({begin.data(), begin.size()}));
  if (bytes.empty()) co_return {};
  co_return co_await stream_.write_all(bytes);
}

}  // namespace runnel::volume_server
