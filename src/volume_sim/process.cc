#include "volume_sim/process.h"

#include <utility>

#include "base/check.h"

namespace runnel::volume_sim {
namespace {

std::unique_ptr<async::VirtualProcess> virtual_process(Agenda& agenda, std::uint64_t seed) {
  const auto latency = [](std::string_view /*thread*/) { return Duration::millis(3); };
  return std::make_unique<async::VirtualProcess>(agenda, async::VirtualOptions{seed, latency});
}

}  // namespace

Process::Process(Site site, std::vector<std::string> volumes, std::uint64_t number,
                 std::uint64_t seed)
    : machines_(site.machines),
      number_(number),
      volume_(volumes.front()),
      others_(volumes.begin() + 1, volumes.end()),
      loop_([&] {
        std::unique_ptr<async::VirtualProcess> process = virtual_process(site.agenda, seed);
        process_ = process.get();
        return process;
      }()),
      clock_(site.agenda, site.skew),
      random_(seed * 4 + 1),
      dice_(seed * 4 + 2),
      seen_(machines_, std::move(site.machine), number),
      network_(site.agenda, loop_, std::move(site.bucket), site.faults, number, seed * 4 + 3),
      retries_(loop_, clock_, random_, network_),
      gate_(loop_) {
  machines_.begins(number_);
}

void Process::start(Async<void> work) { MUST(loop_.spawn(gate_, run(std::move(work)))); }

Async<void> Process::run(Async<void> work) {
  const Result<void> done = co_await std::move(work);
  has_ended_ = true;
  machines_.ends(number_);
  (void)done;  // The work has told the oracle what it saw.
  co_return {};
}

void Process::kill() {
  machines_.ends(number_);
  const bool ended = process_->run_out([this] { network_.cut(); },
                                       [this] { return has_ended_ && gate_.inside() == 0; });
  CHECK(ended, "a process that was killed does not come to its end");
}

}  // namespace runnel::volume_sim
