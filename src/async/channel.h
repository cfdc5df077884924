#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <utility>

#include "async/async.h"
#include "async/event.h"
#include "async/event_loop.h"
#include "async/stop_token.h"

namespace runnel::async {

// A bounded queue between coroutines of one loop.
//
// Contract: send() waits while `items_max` items are queued; try_send() fails with kFull instead.
//           receive() waits for an item and yields nullopt once closed and drained. After close()
//           senders get kCancelled. Items keep their order.
// Threads:  the loop's only. Any number of senders and receivers.
// Lifetime: nobody waits at destruction: close() and let them finish.
template <typename T>
class Channel {
 public:
  Channel(EventLoop& loop, std::size_t items_max)
      : items_max_(items_max), sendable_(loop), receivable_(loop) {
    CHECK(items_max > 0, "a channel needs room for one item");
  }

  Async<void> send(T item, StopToken token = {}) {
    while (!closed_ && items_.size() >= items_max_) {
      Result<void> woken = co_await sendable_.wait(token);
      CO_TRY(std::move(woken));
    }
    co_return push(std::move(item));
  }

  Result<void> try_send(T item) {
    if (!closed_ && items_.size() >= items_max_) return Error(Errc::kFull, "the channel is full");
    return push(std::move(item));
  }

  Async<std::optional<T>> receive(StopToken token = {}) {
    while (!closed_ && items_.empty()) {
      Result<void> woken = co_await receivable_.wait(token);
      CO_TRY(std::move(woken));
    }
    co_return pop();
  }

  void close() {
    closed_ = true;
    sendable_.notify_all();
    receivable_.notify_all();
  }

  std::size_t size() const { return items_.size(); }

 private:
  Result<void> push(T item) {
    if (closed_) return cancelled_error();
    items_.push_back(std::move(item));
    receivable_.notify_one();
    return {};
  }

  std::optional<T> pop() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    sendable_.notify_one();
    return item;
  }

  const std::size_t items_max_;
  std::deque<T> items_;
  Notifier sendable_;
  Notifier receivable_;
  bool closed_ = false;
};

}  // namespace runnel::async
