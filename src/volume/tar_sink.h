#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/worker.h"
#include "volume/dump_format.h"
#include "volume/tar_writer.h"
#include "volume/tree_sink.h"

namespace runnel::volume {

// A version as a tar, written on a thread "volume-tar": a file that is there when it is whole, or
// a stream.
class TarSink final : public TreeSink {
 public:
  // `path`: of the file; "-" is stdout. `only`: the name of one file that is got by itself.
  static Result<std::unique_ptr<TarSink>> open(async::EventLoop& loop, const std::string& path,
                                               std::string only);
  // As a dump, docs/design/volume_format.md.
  static Result<std::unique_ptr<TarSink>> open_dump(async::EventLoop& loop, const std::string& path,
                                                    DumpHeader header);
  ~TarSink() override;

  Async<bool> has(std::string, Node) override { co_return false; }
  Async<void> take(std::vector<SinkEntry> entries) override;
  Async<void> begin(std::string path, Node node) override;
  Async<void> append(std::vector<std::string> chunks) override;
  Async<void> end() override { co_return {}; }
  Async<bool> drop() override { co_return false; }
  Async<void> finish() override;
  Async<void> close() override { return worker_->stop(); }

 private:
  struct Target;
  TarSink(std::unique_ptr<Target> target, std::unique_ptr<async::Worker> worker);
  static Result<std::unique_ptr<TarSink>> make(async::EventLoop& loop, const std::string& path);

  // On the thread.
  Result<void> write_head(const std::string& path, const Node& node);
  Result<void> write(const SinkEntry& entry);
  Result<void> write_text(std::string_view path, const std::string& text);
  Result<void> write_end();

  std::string only_;
  std::optional<DumpHeader> dump_;
  bool is_begun_ = false;  // The dump's header is written.
  DumpDigest digest_;
  const std::unique_ptr<Target> target_;
  const std::unique_ptr<async::Worker> worker_;
};

}  // namespace runnel::volume
