#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "base/split_mix.h"
#include "volume/delete.h"
#include "volume/gc.h"
#include "volume/kept_session.h"
#include "volume_sim/work.h"
#include "volume_sim/world.h"

namespace runnel::volume_sim {
namespace {

// A put that takes an hour; `error` is what it ends with.
Async<void> put_for_long(Process& process, std::optional<Error>& error) {
  volume::Volume volume =
      CO_TRY(co_await volume::Volume::open(process.context(), process.volume()));
  CO_TRY(co_await volume.begin_writing(volume.processes().this_one("put")));
  const Result<void> done = co_await volume::with_session<void>(
      process.loop(), volume, [] { return std::set<std::string>(); },
      [&](async::StopToken stop) {
        return process.loop().sleep(Duration::minutes(60), std::move(stop));
      },
      {});
  if (!done.ok()) error = done.error();
  co_return {};
}

// gc takes sessions that stand still for dead.
Async<void> collect_and_delete(Process& process) {
  volume::Volume volume =
      CO_TRY(co_await volume::Volume::open_to_delete(process.context(), process.volume()));
  CO_TRY(co_await volume::collect_garbage(process.loop(), process.clock(), volume, {}, {}));
  CO_TRY(co_await volume::delete_volume(process.loop(), process.clock(), volume, {}, {}));
  co_return {};
}

TEST(Deleted, AWriterThatWasStoppedMeanwhileEndsAtItsNextBeat) {
  SplitMix64 dice(1);
  World world(dice, false);
  world.make_volume();
  std::optional<Error> error;
  const std::unique_ptr<Process> writer = world.new_process_of("data");
  writer->start(put_for_long(*writer, error));
  world.wait(Duration::seconds(60));  // Its way may be one of seconds.
  writer->freeze();
  world.run_alone([](Process& process) { return collect_and_delete(process); });
  writer->thaw();
  world.wait(Duration::seconds(60));
  ASSERT_TRUE(writer->has_ended());
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code, Errc::kNotFound);
  EXPECT_EQ(error->message, "volume data was deleted");
  EXPECT_EQ(world.violation(), "");
}

}  // namespace
}  // namespace runnel::volume_sim
