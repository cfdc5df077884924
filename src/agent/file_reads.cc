#include "agent/file_reads.h"

#include <utility>

#include "base/check.h"
#include "base/shell_word.h"
#include "env/files.h"

namespace runnel::agent {

struct FileReads::Reading {
  explicit Reading(async::EventLoop& loop) : ended(loop) {}

  async::Notifier ended;
  // Its thread's until the call is done: the thread holds on to it, even when nobody else does.
  std::shared_ptr<std::optional<Result<std::string>>> outcome =
      std::make_shared<std::optional<Result<std::string>>>();
  bool done = false;
  std::optional<async::AbandonableCall> call;
};

Error FileReads::silent(const std::string& path) const {
  return Error(Errc::kTimeout, path + " did not answer within " + human(answer_max_))
      .with_hint("see whether its disk or mount answers: ls -l " + shell_word(path));
}

Result<FileReads::ReadingPtr> FileReads::begin(const std::string& path, Bytes limit) {
  CHECK(readings_.size() < kAtOnceMax, "more files are read at once than may be");
  auto reading = std::make_shared<Reading>(loop_);
  reading->call.emplace(TRY(async::AbandonableCall::start(
      loop_, "agent-file",
      [outcome = reading->outcome, path, limit] { outcome->emplace(env::read_file(path, limit)); },
      [this, path] {
        const auto found = readings_.find(path);
        CHECK(found != readings_.end(), "a file was read that nobody asked for");
        const ReadingPtr ended = found->second;
        readings_.erase(found);
        ended->done = true;
        ended->ended.notify_all();
        room_.notify_all();
      })));
  readings_[path] = reading;
  return reading;
}

Async<FileReads::ReadingPtr> FileReads::find_or_begin(std::string path, Bytes limit, Duration until,
                                                      async::StopToken stop) {
  for (;;) {
    if (const auto found = readings_.find(path); found != readings_.end()) co_return found->second;
    if (readings_.size() < kAtOnceMax) co_return begin(path, limit);
    const Duration left = until - clock_.boot();
    if (left <= Duration()) {
      co_return Error(Errc::kTimeout, path + " waits for " + std::to_string(kAtOnceMax) +
                                          " other files that do not answer")
          .with_hint("one of them is " + readings_.begin()->first);
    }
    Result<async::Wake> woken = co_await room_.wait_for(left, stop);
    CO_TRY(std::move(woken));
  }
}

Async<std::string> FileReads::read(std::string path, Bytes limit, async::StopToken stop) {
  const Duration until = clock_.boot() + answer_max_;
  Result<ReadingPtr> found = co_await find_or_begin(path, limit, until, stop);
  const ReadingPtr reading = CO_TRY(std::move(found));
  while (!reading->done) {
    const Duration left = until - clock_.boot();
    if (left <= Duration()) co_return silent(path);
    Result<async::Wake> woken = co_await reading->ended.wait_for(left, stop);
    CO_TRY(std::move(woken));
  }
  CHECK(reading->outcome->has_value(), "a file was read without an outcome");
  co_return **reading->outcome;
}

}  // namespace runnel::agent
