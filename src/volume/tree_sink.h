#pragma once

#include <string>
#include <vector>

#include "async/async.h"
#include "volume/node.h"

namespace runnel::volume {

// A folder, a link, or a file with all its bytes.
struct SinkEntry {
  std::string path;
  Node node;
  std::vector<std::string> chunks;
};

// Where a version's files go: a folder of this machine, a tar, a bucket.
//
// Contract: paths are '/'-separated below what is got; one file or link that is got by itself has
//           "". They come in the order of paths, a folder before what is in it. close() is
//           awaited before destruction.
// Threads:  the loop's; what blocks has a thread of its own.
class TreeSink {
 public:
  virtual ~TreeSink() = default;

  // Whether the file is there already, as it is.
  virtual Async<bool> has(std::string path, Node node) = 0;
  virtual Async<void> take(std::vector<SinkEntry> entries) = 0;

  // A file that is longer than a batch comes in parts, between these two. The other calls are not
  // made meanwhile.
  virtual Async<void> begin(std::string path, Node node) = 0;
  virtual Async<void> append(std::vector<std::string> chunks) = 0;
  virtual Async<void> end() = 0;
  // Instead of end(): nothing stays of the file. False when that cannot be: all of it is worthless.
  virtual Async<bool> drop() = 0;

  // After everything: a sink that is not finished is not what was got.
  virtual Async<void> finish() = 0;
  virtual Async<void> close() = 0;
};

}  // namespace runnel::volume
