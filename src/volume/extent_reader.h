#pragma once

#include <memory>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "async/stop_token.h"
#include "volume/fetch_plan.h"
#include "volume/range_reader.h"

namespace runnel::volume {

// Fetches what extents hold: neighbours in a pack by one request, several requests at a time; each
// chunk is checked by its sums and decompressed.
//
// Contract: close() is awaited before destruction.
// Threads:  the loop's only.
// Lifetime: the loop and what `ranges` reads from outlive it.
class ExtentReader {
 public:
  static constexpr int kRequestsMax = 8;

  ExtentReader(async::EventLoop& loop, RangeReader ranges, async::StopToken stop);

  // What each of them holds, in their order, zeros of a hole: or why it cannot be had. kCorrupt for
  // a chunk that is damaged, kNotFound for a pack that is not there.
  Async<std::vector<Result<std::string>>> read(std::vector<Extent> extents);
  Async<void> close() { return requests_.close(); }

 private:
  struct Batch {
    std::vector<Extent> extents;
    std::vector<Result<std::string>> chunks;
    int under_way = 0;
  };
  Async<void> fetch(Fetch what, std::shared_ptr<Batch> batch);
  Async<void> fetch_range(const Fetch& what, Batch& batch);

  async::EventLoop& loop_;
  const RangeReader ranges_;
  const async::StopToken stop_;
  async::Gate requests_;
  async::Notifier ended_;
  int under_way_ = 0;
};

}  // namespace runnel::volume
