#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/together.h"
#include "cli/arguments.h"
#include "cli/transfer_line.h"
#include "env/clock.h"
#include "env/random.h"
#include "home/home.h"
#include "json/value.h"
#include "object/open_store.h"
#include "object/opened_buckets.h"
#include "volume/volume.h"

namespace runnel::cli {

// The store of a volume, and the loop that it is asked on.
class VolumeClient {
 public:
  static Result<std::unique_ptr<VolumeClient>> open(const object::StoreUrl& place);
  // Of another store, on the same loop. With plain objects its keys are what others call them.
  Result<std::unique_ptr<VolumeClient>> beside(
      const object::StoreUrl& place, object::KeyRule rule = object::KeyRule::kEveryStore) const;
  ~VolumeClient();
  VolumeClient(const VolumeClient&) = delete;
  VolumeClient& operator=(const VolumeClient&) = delete;

  async::EventLoop& loop() { return *loop_; }
  volume::VolumeContext context() {
    return {store_->store(), env::real_clock(), env::real_random(), {}, &*others_};
  }
  template <typename T>
  Result<T> run(Async<T> work) {
    return loop_->block_on(std::move(work));
  }
  // The same, while the line tells how far it is, and also when that is no further.
  template <typename T>
  Result<T> run_drawing(TransferLine& line, Async<T> work) {
    std::vector<async::Stoppable<T>> both;
    both.push_back([&work](async::StopToken) { return std::move(work); });
    both.push_back([this, &line](async::StopToken stop) {
      return keep_drawing<T>(*loop_, line, std::move(stop));
    });
    return MUST(run(async::race<T>(*loop_, std::move(both)))).result;
  }
  // Runs what frees room: when the store is full, again in the room that it holds for that.
  template <typename T>
  Result<T> run_freeing(const std::function<Async<T>()>& work) {
    Result<T> done = run(work());
    const bool is_full = !done.ok() && done.error().code == Errc::kFull;
    if (!is_full || !TRY(run(give_up_reserve()))) return done;
    return run(work());
  }
  // As OpenedStore.
  Async<bool> give_up_reserve() { return store_->give_up_reserve(); }
  Result<volume::Volume> volume(const std::string& name) {
    return run(volume::Volume::open(context(), name));
  }

 private:
  explicit VolumeClient(std::shared_ptr<async::EventLoop> loop) : loop_(std::move(loop)) {}
  // Until it is stopped.
  template <typename T>
  static Async<T> keep_drawing(async::EventLoop& loop, TransferLine& line, async::StopToken stop) {
    for (;;) {
      CO_TRY(co_await loop.sleep(Duration::millis(500), stop));
      line.draw_again();
    }
  }
  static Result<std::unique_ptr<VolumeClient>> open_on(std::shared_ptr<async::EventLoop> loop,
                                                       const object::StoreUrl& place,
                                                       object::KeyRule rule);

  std::shared_ptr<async::EventLoop> loop_;  // Of all that are beside each other.
  std::unique_ptr<object::OpenedStore> store_;
  std::optional<object::OpenedBuckets> others_;  // Of linked objects.
};
using VolumeClientPtr = std::unique_ptr<VolumeClient>;

// Of the store where the volume is, by the home's list or by --store.
Result<VolumeClientPtr> client_of(const Arguments& arguments, const home::Home& home,
                                  const std::string& name);

// To be called before a volume is made that the home is to know: its folder is closed to other
// users. kConflict when the home has a volume of the name in another store: a name stands for one.
// One that is there no more is in nobody's way. kPrecondition as close_home().
Result<void> prepare_for_volume(const home::Home& home, const std::string& name,
                                const object::StoreUrl& place);

// Prints the document where one is asked for, else the text.
void answer(const Arguments& arguments, const json::Value& value, const std::string& text);
json::Value manifest_document(const volume::Manifest& manifest);
// The tags of a version, in order.
std::vector<std::string> tags_of(const volume::Head& head, const std::string& version);
// "a, b".
std::string joined(const std::vector<std::string>& words);
// "1 file", "2 files".
std::string count_text(std::int64_t count, const char* one, const char* many);

}  // namespace runnel::cli
