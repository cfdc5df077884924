#include "fuse/request_answers.h"

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <cerrno>
#include <utility>

#include "base/check.h"
#include "fuse/error_numbers.h"

namespace runnel::fuse {

Async<void> RequestAnswers::close() {
  CO_TRY(co_await answering_.close());
  co_return co_await waiting_.close();
}

void RequestAnswers::begin(const Waiting& waiting, Async<void> work) {
  const Result<void> begun = loop_.spawn(answering_, answer_or_fail(waiting, std::move(work)));
  if (begun.ok()) return;
  if (const Request request = waiting->take()) ::fuse_reply_err(request, ENOTCONN);
}

Async<void> RequestAnswers::answer_or_fail(Waiting waiting, Async<void> work) {
  const Result<void> done = co_await std::move(work);
  const Request request = waiting->take();
  if (request == nullptr) co_return {};
  // What was stopped is left to the next server, which is asked again.
  if (!done.ok() && done.error().code == Errc::kCancelled) {
    ::fuse_req_interrupt_func(request, nullptr, nullptr);
    co_return {};
  }
  CHECK(!done.ok(), "a request was not answered");
  // Before its asker can end of it.
  if (!is_ordinary(done.error())) notices_.tell(done.error());
  ::fuse_reply_err(request, errno_of(done.error()));
  co_return {};
}

}  // namespace runnel::fuse
