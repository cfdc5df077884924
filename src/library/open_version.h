#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/gate.h"
#include "async/handover.h"
#include "async/loop_thread.h"
#include "async/stop_token.h"
#include "library/reference.h"
#include "library/version_reader.h"
#include "object/object_store.h"
#include "volume/disk_cache.h"
#include "volume/volume.h"
#include "volume_server/pack_client.h"

namespace runnel::library {

// What is to be opened.
struct Opening {
  Reference reference;  // Its version may be a tag, or the beginning of an id, where the manifest's
                        // key is not known.
  std::optional<volume::DiskCache::Options> cache;
  // Who fetches and keeps packs for all that read on this machine; none: this process does.
  std::optional<volume_server::ServerPlace> server;
  std::vector<std::string> store_variables;  // With a server: by which it reaches the store.
};

// What is asked of a version: a plain function that calls a coroutine.
template <typename T>
using Question = std::function<Async<T>(VersionReader&)>;

// A version of a volume that this process has open: its store, its session, its caches, on a loop
// with a thread of its own.
//
// Contract: the version is held by a session for as long as this is there; where it is not in the
//           head any more, by the session of whoever gave its reference. ask() fails with kGone
//           once it has ended, which it does by itself when its session was taken for dead.
// Threads:  any, several at once. To be used by the process that has opened it only.
// Lifetime: end() ends it; so does the destructor, however long that takes.
class OpenVersion {
 public:
  static constexpr std::size_t kPackBytes = 64 << 20;
  static constexpr Duration kPatience = Duration::seconds(5);  // With a store at the end.

  // kNotFound when there is no such volume or version.
  static Result<std::shared_ptr<OpenVersion>> open(Opening opening);
  ~OpenVersion();
  OpenVersion(const OpenVersion&) = delete;
  OpenVersion& operator=(const OpenVersion&) = delete;

  // With the version's whole id.
  const Reference& reference() const { return opening_.reference; }

  template <typename T>
  Result<T> ask(const Question<T>& question) {
    return thread_->call<T>([this, &question] { return answer<T>(question); });
  }
  bool has_ended() const { return thread_->has_ended(); }
  // Ends the session; what is asked meanwhile fails. False when it could not be ended: then this is
  // never to be destroyed.
  bool end();

 private:
  explicit OpenVersion(Opening opening) : opening_(std::move(opening)) {}

  template <typename T>
  Async<T> answer(const Question<T>& question) {
    if (reader_ == nullptr) co_return Error(Errc::kGone, "the volume is being closed");
    CO_TRY(answering_->enter());
    Result<T> answer = co_await question(*reader_);
    answering_->leave();
    co_return answer;
  }
  void tell(async::StopSource& stop);

  // On the loop, each within the one before.
  Async<void> serve(async::EventLoop& loop);
  Async<void> serve_store(async::EventLoop& loop);
  Async<void> serve_volume(async::EventLoop& loop, object::ObjectStore& store,
                           object::StoreFinder& others);
  Async<void> serve_snapshot(async::EventLoop& loop, volume::Volume& volume,
                             volume::Snapshot& snapshot, async::StopToken stop);
  Async<void> serve_packs(async::EventLoop& loop, volume::Volume& volume,
                          volume::Snapshot& snapshot, volume_server::PackClient* server,
                          async::StopToken stop);
  Async<void> serve_reader(async::EventLoop& loop, volume::Snapshot& snapshot,
                           volume::PackCache& cache, async::StopToken stop);

  Opening opening_;  // The loop's until it is open; then it does not change.
  async::Handover<void> opened_;
  bool is_open_ = false;             // The loop's, as the next four.
  VersionReader* reader_ = nullptr;  // While questions are taken.
  async::Gate* answering_ = nullptr;
  async::StopSource stop_;
  async::StopSource hurry_;  // Ends requests to the store as well.
  std::unique_ptr<async::LoopThread> thread_;
};

}  // namespace runnel::library
