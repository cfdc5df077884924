#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/worker.h"
#include "volume/target_tree.h"
#include "volume/tree_sink.h"

namespace runnel::volume {

// A folder of this machine, or one file of it, with modes and times; files are touched on a thread
// "volume-get". Files that are there are replaced, each at once; others stay. The folder
// itself keeps its mode and times when it is there already.
class FolderSink final : public TreeSink {
 public:
  // Whether files that have the size and the time of the version's are taken for the same.
  enum class Same : std::uint8_t { kNever, kBySizeAndTime };

  static Result<std::unique_ptr<FolderSink>> open(async::EventLoop& loop, std::string target,
                                                  Same same);

  Async<bool> has(std::string path, Node node) override;
  Async<void> take(std::vector<SinkEntry> entries) override;
  Async<void> begin(std::string path, Node node) override;
  Async<void> append(std::vector<std::string> chunks) override;
  Async<void> end() override;
  Async<bool> drop() override;
  Async<void> finish() override;
  Async<void> close() override { return worker_->stop(); }

 private:
  FolderSink(std::string target, Same same, std::unique_ptr<async::Worker> worker)
      : target_(std::move(target)), same_(same), worker_(std::move(worker)) {}

  // On the thread: the folder that the target is in, whose name comes before each path.
  Result<FolderRoot*> root();
  std::string below(const std::string& path) const;
  Result<void> write(const SinkEntry& entry);

  const std::string target_;
  std::optional<FolderRoot> root_;
  const Same same_;
  std::unique_ptr<async::Worker> worker_;
  std::vector<std::pair<std::string, Node>> folders_;  // Whose attributes are to be set.
  std::optional<TargetFile> long_;
  Node long_node_;
};

}  // namespace runnel::volume
