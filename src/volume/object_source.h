#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/event_loop.h"
#include "async/stop_token.h"
#include "base/units.h"
#include "object/object_store.h"
#include "volume/file_cutter.h"
#include "volume/put_source.h"

namespace runnel::volume {

// Plain objects of a store as a put reads them, each as entry_of_object() has it.
//
// Contract: kNotFound when there is no object; kInvalid names a key that is no path. An object that
//           is removed or replaced while it is read is an error.
// Lifetime: loop and store outlive it.
// Limits:   kReadsAtOnce requests at a time, of up to kPartBytes each.
class ObjectSource final : public PutSource {
 public:
  static constexpr std::size_t kReadsAtOnce = 32;
  static constexpr std::size_t kPartBytes = 8 << 20;

  ObjectSource(async::EventLoop& loop, object::ObjectStore& store, Time now, async::StopToken stop);

  Async<ReadBatch> next(async::Worker& worker) override;
  const std::vector<std::string>& passed_over() const override { return passed_over_; }

 private:
  // An object that is read part by part.
  struct LongObject {
    ReadEntry entry;
    std::string key;
    std::string stamp;
    std::int64_t size = 0;
    std::int64_t next = 0;  // The first byte that is not asked for.
    FileCutter cutter;
  };
  // What is read by one request.
  struct Part {
    std::string key;
    std::string stamp;
    std::int64_t offset = 0;
    std::string bytes;  // As many as are wanted, to be filled.
  };

  Async<std::optional<object::Listed>> next_listed();
  Async<ReadBatch> next_short(async::Worker& worker);
  Async<ReadBatch> next_long(async::Worker& worker);
  std::vector<Part> parts_of_long();
  Async<void> read_all(std::vector<Part>& parts);

  async::EventLoop& loop_;
  object::ObjectStore& store_;
  const Time now_;
  const async::StopToken stop_;
  object::ListPage page_;
  std::size_t next_ = 0;  // In the page.
  bool is_listed_ = false;
  std::optional<LongObject> long_;
  std::vector<std::string> passed_over_;
};

}  // namespace runnel::volume
