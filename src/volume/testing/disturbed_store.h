#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>

#include "object/forwarding_store.h"

namespace runnel::volume::testing {

// Ends, with all of its process, before one of the changes that it makes.
class ShortLivedStore final : public object::ForwardingStore {
 public:
  ShortLivedStore(object::ObjectStore& inner, int changes)
      : ForwardingStore(inner), left_(changes) {}
  Async<std::string> put(std::string key, object::Body bytes, object::Condition condition,
                         async::StopToken stop) override {
    if (left_-- <= 0) co_return Error(Errc::kCancelled, "killed");
    co_return co_await inner().put(std::move(key), std::move(bytes), std::move(condition),
                                   std::move(stop));
  }
  Async<void> remove(std::string key, async::StopToken stop) override {
    if (left_-- <= 0) co_return Error(Errc::kCancelled, "killed");
    co_return co_await inner().remove(std::move(key), std::move(stop));
  }

 private:
  int left_;
};

// A head is swapped, or will be, and nobody hears of it: from then on the store does not answer.
class SilentStore final : public object::ForwardingStore {
 public:
  enum class Swap : bool { kDone, kLate };
  SilentStore(object::ObjectStore& inner, Swap swap) : ForwardingStore(inner), swap_(swap) {}

  Async<std::string> put(std::string key, object::Body bytes, object::Condition condition,
                         async::StopToken stop) override {
    if (is_silent_) co_return silent();
    auto put = [=, this] { return inner().put(key, bytes, condition, stop); };
    if (!key.ends_with("/head") || !waits_) co_return co_await put();
    waits_ = false;
    is_silent_ = true;
    if (swap_ == Swap::kDone) CO_TRY(co_await put());
    late_ = std::move(put);
    co_return silent();
  }
  Async<object::Object> get(std::string key, std::int64_t most, async::StopToken stop) override {
    if (is_silent_) co_return silent();
    co_return co_await inner().get(std::move(key), most, std::move(stop));
  }
  // The next swap is the one.
  void wait() { waits_ = true; }
  void answer() { is_silent_ = false; }
  Async<std::string> arrive() { return late_(); }

 private:
  static Error silent() { return {Errc::kUnavailable, "the store does not answer"}; }

  const Swap swap_;
  bool waits_ = false;
  bool is_silent_ = false;
  std::function<Async<std::string>()> late_;
};

// One of the puts of these objects is done, or not, and nobody hears of it.
class UnheardStore final : public object::ForwardingStore {
 public:
  // `keys`: what theirs begin with. `put`: counted from 1.
  UnheardStore(object::ObjectStore& inner, std::string keys, int put, bool is_done)
      : ForwardingStore(inner), keys_(std::move(keys)), left_(put), is_done_(is_done) {}
  Async<std::string> put(std::string key, object::Body bytes, object::Condition condition,
                         async::StopToken stop) override {
    const bool is_it = key.starts_with(keys_) && left_ > 0 && --left_ == 0;
    if (is_it && is_done_) CO_TRY(co_await inner().put(key, bytes, condition, stop));
    if (is_it) co_return Error(Errc::kUnavailable, "the store does not answer");
    co_return co_await inner().put(std::move(key), std::move(bytes), std::move(condition),
                                   std::move(stop));
  }

 private:
  const std::string keys_;
  int left_;
  const bool is_done_;
};

// Somebody works on the volume at the moment when one of these objects is put for the first time,
// or a later one.
class BusyStore final : public object::ForwardingStore {
 public:
  // `keys`: what theirs begin with. `put`: counted from 1.
  BusyStore(object::ObjectStore& inner, std::string keys, std::function<Async<void>()> work,
            int put = 1)
      : ForwardingStore(inner), keys_(std::move(keys)), work_(std::move(work)), left_(put) {}
  Async<std::string> put(std::string key, object::Body bytes, object::Condition condition,
                         async::StopToken stop) override {
    if (key.starts_with(keys_) && --left_ == 0) CO_TRY(co_await std::exchange(work_, nullptr)());
    co_return co_await inner().put(std::move(key), std::move(bytes), std::move(condition),
                                   std::move(stop));
  }

 private:
  const std::string keys_;
  std::function<Async<void>()> work_;
  int left_;
};

// Somebody does something at the moment when one of these objects is read for the first time.
class StoreWithAReader final : public object::ForwardingStore {
 public:
  // `keys`: what theirs begin with.
  StoreWithAReader(object::ObjectStore& inner, std::string keys, std::function<Async<void>()> work)
      : ForwardingStore(inner), keys_(std::move(keys)), work_(std::move(work)) {}
  Async<object::Object> get(std::string key, std::int64_t most, async::StopToken stop) override {
    CO_TRY(co_await before(key));
    co_return co_await inner().get(std::move(key), most, std::move(stop));
  }
  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override {
    CO_TRY(co_await before(key));
    co_return co_await inner().read(std::move(key), std::move(stamp), offset, into,
                                    std::move(stop));
  }

 private:
  Async<void> before(const std::string& key) {
    const auto work = key.starts_with(keys_) ? std::exchange(work_, {}) : nullptr;
    if (work) CO_TRY(co_await work());
    co_return {};
  }

  const std::string keys_;
  std::function<Async<void>()> work_;
};

// Keys that have expired, from the moment on that it is told: nothing can be put.
class RefusingStore final : public object::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Async<std::string> put(std::string key, object::Body bytes, object::Condition condition,
                         async::StopToken stop) override {
    if (refuses) {
      ++refused;
      co_return Error(Errc::kDenied, "the keys have expired");
    }
    co_return co_await inner().put(std::move(key), std::move(bytes), std::move(condition),
                                   std::move(stop));
  }

  bool refuses = false;
  int refused = 0;
};

}  // namespace runnel::volume::testing
