#include "fuse/waiting_requests.h"

#define FUSE_USE_VERSION 314
#include <fuse_lowlevel.h>

#include <cerrno>
#include <utility>

#include "env/process.h"

namespace runnel::fuse {
namespace {

constexpr Duration kLookEvery = Duration::millis(200);

// Answers it when its asker is being killed.
bool is_over(WaitingRequest& waiting) {
  if (waiting.request == nullptr || waiting.is_held) return true;
  if (!env::is_being_killed(::fuse_req_ctx(waiting.request)->pid)) return false;
  ::fuse_reply_err(waiting.take(), EINTR);
  return true;
}

}  // namespace

Request WaitingRequest::take() { return std::exchange(request, nullptr); }

bool WaitingRequest::hold() {
  is_held = request != nullptr;
  return is_held;
}

Waiting WaitingRequests::add(Request request) {
  auto waiting = std::make_shared<WaitingRequest>(*this, request);
  ::fuse_req_interrupt_func(request, &on_signal, waiting.get());
  return waiting;
}

void WaitingRequests::on_signal(Request /*request*/, void* waiting) {
  auto* const asked = static_cast<WaitingRequest*>(waiting);
  asked->all.watch(asked->shared_from_this());
}

void WaitingRequests::watch(Waiting waiting) {
  signalled_.push_back(std::move(waiting));
  if (!looks_) looks_ = loop_.spawn(watching_, keep_looking()).ok();
}

Async<void> WaitingRequests::keep_looking() {
  for (bool goes_on = true; goes_on;) {
    std::erase_if(signalled_, [](const Waiting& each) { return is_over(*each); });
    if (signalled_.empty()) break;
    goes_on = (co_await loop_.sleep(kLookEvery, watching_.token())).ok();
  }
  looks_ = false;
  co_return {};
}

}  // namespace runnel::fuse
