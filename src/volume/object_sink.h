#pragma once

#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/stop_token.h"
#include "object/object_store.h"
#include "volume/tree_sink.h"

namespace runnel::volume {

// A version as plain objects of a store, one for each file, named by its path: what is there is
// replaced, but for the head of a volume, which is kConflict; other objects stay. Objects have no
// modes, times, links or empty folders: links are left out, and counted.
//
// Lifetime: loop and store outlive it.
// Limits:   kPutsAtOnce requests at a time; a file of over kObjectBytesMax is kInvalid, since it
//           is put by one request, out of memory.
class ObjectSink final : public TreeSink {
 public:
  static constexpr std::size_t kPutsAtOnce = 16;
  static constexpr std::uint64_t kObjectBytesMax = 1 << 30;

  // `only`: the name of one file that is got by itself.
  ObjectSink(async::EventLoop& loop, object::ObjectStore& store, std::string only,
             async::StopToken stop)
      : loop_(loop), store_(store), only_(std::move(only)), stop_(std::move(stop)) {}

  const std::vector<std::string>& left_out() const { return left_out_; }

  Async<bool> has(std::string, Node) override { co_return false; }
  Async<void> take(std::vector<SinkEntry> entries) override;
  Async<void> begin(std::string path, Node node) override;
  Async<void> append(std::vector<std::string> chunks) override;
  Async<void> end() override;
  Async<bool> drop() override;
  Async<void> finish() override { co_return {}; }
  Async<void> close() override { co_return {}; }

 private:
  Async<void> put(std::string path, std::string bytes);
  Async<void> look_for_head(std::string path);

  async::EventLoop& loop_;
  object::ObjectStore& store_;
  const std::string only_;
  const async::StopToken stop_;
  std::string long_path_;
  std::string long_bytes_;
  std::vector<std::string> left_out_;  // Paths of links.
};

}  // namespace runnel::volume
