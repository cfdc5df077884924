#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/worker.h"
#include "volume/edit.h"
#include "volume/source_tree.h"

namespace runnel::volume {

// What a put reads: a folder of this machine, another volume, objects, a tar.
//
// Contract: batches are as SourceTree gives them. Their paths are ones that path_parts() takes;
//           folders that are not named before what is in them are made; what comes again
//           replaces what came before. close() is awaited before destruction.
// Threads:  the loop's; what blocks or computes for long runs on the put's thread, `worker`.
class PutSource {
 public:
  virtual ~PutSource() = default;

  virtual Async<ReadBatch> next(async::Worker& worker) = 0;
  virtual const std::vector<std::string>& passed_over() const = 0;
  // After the last batch: permission bits and times of the folder that it reads. None of one file,
  // and where nothing says them.
  virtual std::optional<Node> root() const { return std::nullopt; }
  // Whether all that it gave, which is the edit, is what it should have been. An error: nothing is
  // published.
  virtual Result<void> check(const Edit&) const { return {}; }
  virtual Async<void> close() { co_return {}; }
};

std::unique_ptr<PutSource> source_of(std::unique_ptr<SourceTree> tree);

}  // namespace runnel::volume
