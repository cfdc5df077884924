#include "http/outward_client.h"

#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "async/event.h"
#include "async/gate.h"
#include "async/worker.h"
#include "base/check.h"
#include "http/detail/libcurl.h"
#include "http/detail/transfer.h"

namespace runnel::http {
namespace {

using detail::Transfer;

constexpr int kLookMillis = 1'000;  // Wake-ups come at once; this is for libcurl's own timers.

// What the loop waits for.
struct Waiting {
  explicit Waiting(async::EventLoop& loop) : done(loop) {}
  std::unique_ptr<Transfer> transfer;
  async::Latch done;
};
using WaitingPtr = std::shared_ptr<Waiting>;

// libcurl sends values as they are, and behind the end of a line stands another header or request.
Result<void> check_headers(const Headers& headers) {
  for (const auto& [name, value] : headers.fields()) {
    if (value.find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos) continue;
    return Error(Errc::kInvalid, "the value of the header " + name + " is not one line");
  }
  return {};
}

}  // namespace

struct OutwardClient::Impl {
  Impl(async::EventLoop& owner, OutwardLimits chosen)
      : loop(owner), limits(std::move(chosen)), gate(owner), multi(curl.multi_init()) {
    CHECK(multi != nullptr, "libcurl has no memory");
    curl.multi_setopt(multi, CURLMOPT_MAX_TOTAL_CONNECTIONS,
                      static_cast<long>(limits.connections_max));
    curl.multi_setopt(multi, CURLMOPT_MAXCONNECTS, static_cast<long>(limits.connections_max));
  }
  ~Impl() { curl.multi_cleanup(multi); }

  // On the thread, until `ending`.
  void serve();
  bool take_news();  // Whether to go on.
  void take_ends();
  void begin(const WaitingPtr& waiting);
  void finish(CURL* handle);

  // On the loop.
  void hand_over(WaitingPtr waiting);
  void give_up(const WaitingPtr& waiting);
  Async<void> run_thread();

  const detail::Libcurl& curl = detail::libcurl();
  async::EventLoop& loop;
  const OutwardLimits limits;
  async::Gate gate;
  std::unique_ptr<async::Worker> worker;
  std::size_t under_way = 0;

  std::mutex mutex;
  std::vector<WaitingPtr> arrived;  // Under the mutex, as the next two.
  std::vector<WaitingPtr> given_up;
  bool ending = false;

  CURLM* multi;  // The thread's alone, as what follows.
  std::map<CURL*, WaitingPtr> transferring;
};

void OutwardClient::Impl::serve() {
  while (take_news()) {
    int running = 0;
    curl.multi_perform(multi, &running);
    take_ends();
    curl.multi_poll(multi, nullptr, 0, kLookMillis, nullptr);
  }
}

bool OutwardClient::Impl::take_news() {
  std::vector<WaitingPtr> begun;
  std::vector<WaitingPtr> cancelled;
  bool all = false;
  {
    const std::lock_guard lock(mutex);
    begun.swap(arrived);
    cancelled.swap(given_up);
    all = ending;
  }
  for (const WaitingPtr& waiting : begun) begin(waiting);
  if (all) {
    for (const auto& [handle, waiting] : transferring) cancelled.push_back(waiting);
  }
  for (const WaitingPtr& waiting : cancelled) {
    CURL* const handle = waiting->transfer->handle();
    if (!transferring.contains(handle)) continue;  // It has ended just now.
    waiting->transfer->cancel();
    finish(handle);
  }
  return !all;
}

void OutwardClient::Impl::begin(const WaitingPtr& waiting) {
  CURL* const handle = waiting->transfer->handle();
  transferring.emplace(handle, waiting);
  const CURLMcode code = curl.multi_add_handle(multi, handle);
  CHECK(code == CURLM_OK, "libcurl refuses a request");
}

void OutwardClient::Impl::take_ends() {
  int left = 0;
  while (const CURLMsg* message = curl.multi_info_read(multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const handle = message->easy_handle;
    Transfer::of(handle).end(message->data.result);
    finish(handle);
  }
}

void OutwardClient::Impl::finish(CURL* handle) {
  curl.multi_remove_handle(multi, handle);
  auto waiting = transferring.extract(handle);
  loop.post([waiting = std::move(waiting.mapped())] { waiting->done.open(); });
}

void OutwardClient::Impl::hand_over(WaitingPtr waiting) {
  {
    const std::lock_guard lock(mutex);
    arrived.push_back(std::move(waiting));
  }
  curl.multi_wakeup(multi);
}

void OutwardClient::Impl::give_up(const WaitingPtr& waiting) {
  {
    const std::lock_guard lock(mutex);
    given_up.push_back(waiting);
  }
  curl.multi_wakeup(multi);
}

Async<void> OutwardClient::Impl::run_thread() {
  return worker->run([this] { serve(); });
}

Result<std::unique_ptr<OutwardClient>> OutwardClient::create(async::EventLoop& loop,
                                                             OutwardLimits limits) {
  TRY(detail::load_libcurl());
  auto impl = std::make_unique<Impl>(loop, std::move(limits));
  impl->worker = TRY(async::Worker::create(loop, {.name = "http-outward"}));
  TRY(loop.spawn(impl->gate, impl->run_thread()));
  return std::unique_ptr<OutwardClient>(new OutwardClient(std::move(impl)));
}

OutwardClient::OutwardClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OutwardClient::~OutwardClient() = default;

Async<Response> OutwardClient::request(OutwardRequest request, async::StopToken stop) {
  CO_TRY(stop.check());
  CO_TRY(check_headers(request.headers));
  if (impl_->gate.closed()) co_return async::cancelled_error();
  if (impl_->under_way >= impl_->limits.waiting_max) {
    co_return Error(Errc::kFull, std::to_string(impl_->under_way) + " requests are under way");
  }
  const auto waiting = std::make_shared<Waiting>(impl_->loop);
  waiting->transfer = std::make_unique<Transfer>(std::move(request), impl_->limits);
  ++impl_->under_way;
  impl_->hand_over(waiting);
  const async::StopCallback stopped(stop, [this, waiting] { impl_->give_up(waiting); });
  Result<void> ended = co_await waiting->done.wait();
  CHECK(ended.ok(), "a wait without a token was stopped");
  --impl_->under_way;
  co_return waiting->transfer->take_result();
}

Async<void> OutwardClient::stop() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->ending = true;
  }
  impl_->curl.multi_wakeup(impl_->multi);
  MUST(co_await impl_->gate.close());
  co_return co_await impl_->worker->stop();
}

}  // namespace runnel::http
