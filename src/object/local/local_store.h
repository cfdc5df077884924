#pragma once

#include <memory>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/worker.h"
#include "object/local/object_folder.h"
#include "object/object_store.h"
#include "object/request_window.h"

namespace runnel::object {

// Objects in a folder of this machine, or of a network file system. docs/design/object.md.
//
// Contract: stop() is awaited before destruction.
// Threads:  the loop's; files are touched on up to kWorkers threads "object-local".
// Limits:   kCallsMax calls are with the threads; more wait for their turn.
class LocalStore final : public ObjectStore {
 public:
  static constexpr std::size_t kWorkers = 4;
  static constexpr int kCallsMax = 256;

  static Result<std::unique_ptr<LocalStore>> open(async::EventLoop& loop, const std::string& path);
  // The same on a thread: a file system that does not answer holds up nobody else on the loop.
  static Async<std::unique_ptr<LocalStore>> open_beside(async::EventLoop& loop, std::string path);
  ~LocalStore() override;

  Async<Object> get(std::string key, std::int64_t limit, async::StopToken stop) override;
  Async<void> read(std::string key, std::string stamp, std::int64_t offset, std::span<char> into,
                   async::StopToken stop) override;
  Async<std::string> put(std::string key, Body bytes, Condition condition,
                         async::StopToken stop) override;
  Async<void> remove(std::string key, async::StopToken stop) override;
  Async<ListPage> list(std::string prefix, std::string after, async::StopToken stop) override;
  const std::string& name() const override { return folder_.name(); }
  // As ObjectFolder.
  Async<void> give_up_reserve();
  Async<void> stop();

 private:
  using Workers = std::vector<std::unique_ptr<async::Worker>>;
  static Result<void> add_workers(async::EventLoop& loop, Workers& workers);
  LocalStore(async::EventLoop& loop, ObjectFolder folder, Workers workers)
      : folder_(std::move(folder)), workers_(std::move(workers)), calls_(loop, kCallsMax) {}

  // The right to a call, for as long as it lives.
  class Turn;
  Async<Turn> take_turn(async::StopToken stop);
  // The one with the shortest queue.
  async::Worker& worker();

  ObjectFolder folder_;
  Workers workers_;
  RequestWindow calls_;
};

}  // namespace runnel::object
