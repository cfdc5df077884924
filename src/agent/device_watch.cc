#include "agent/device_watch.h"

#include <utility>

#include "agent/double_grants.h"
#include "base/check.h"
#include "env/files.h"

namespace runnel::agent {

DeviceWatch::DeviceWatch(async::EventLoop& loop, env::Clock& clock,
                         std::vector<std::string> command, std::string file,
                         const std::vector<model::NodeInfo>& nodes, Tell tell)
    : loop_(loop),
      clock_(clock),
      command_(std::move(command)),
      file_(std::move(file)),
      tell_(std::move(tell)),
      census_(nodes),
      double_grants_(double_grant_notices(nodes)),
      done_(loop) {
  for (const model::NodeInfo& node : nodes) nodes_.push_back(node.id);
}

Result<void> DeviceWatch::start() {
  CHECK(!worker_, "a watch of devices starts twice");
  if (!census_.looks() || command_.empty()) return {};
  worker_ = TRY(async::Worker::create(loop_, {.name = "agent-devices"}));
  return {};
}

Async<void> DeviceWatch::stop() {
  if (worker_) (void)co_await worker_->stop();
  worker_.reset();
  co_return {};
}

Async<void> DeviceWatch::run(async::StopToken stop) {
  while (worker_ && !stop.stopped()) {
    CO_TRY(co_await look_again(stop));
    CO_TRY(co_await loop_.sleep(kEvery, stop));
  }
  co_return {};
}

Async<void> DeviceWatch::look_again(async::StopToken stop) {
  if (!worker_) co_return {};
  const std::int64_t begun = looks_;
  while (looking_) {
    CO_TRY(co_await done_.wait(stop));
  }
  if (looks_ > begun || clock_.boot() < not_before_) co_return {};
  CHECK(!looking_, "two looks at once");
  looking_ = true;
  ++looks_;
  Result<void> looked = co_await look();
  looking_ = false;
  done_.notify_all();
  co_return looked;
}

Async<void> DeviceWatch::look() {
  const bool first = !looked_;
  take(CO_TRY(co_await worker_->run([this, first] {
    Found found{look_in_process(command_, kAnswersWithin), std::nullopt};
    if (!first) return found;
    const Result<std::string> text = env::read_file(file_);
    Result<std::vector<KnownDevice>> known =
        text.ok() ? parse_census(*text) : Result<std::vector<KnownDevice>>(text.error());
    if (known.ok()) found.known = *std::move(known);
    return found;
  })));
  co_return co_await keep();
}

void DeviceWatch::take(Found found) {
  CHECK(looking_, "a look ends that did not begin");
  if (found.known) census_.remember(*std::move(found.known));
  if (!found.look.ok()) {
    trouble_ = found.look.error();
    if (trouble_->code == Errc::kTimeout) not_before_ = clock_.boot() + kLeftAlone;
    return;
  }
  trouble_.reset();
  looked_ = true;
  keeps_ = census_.take(*found.look, clock_.wall()) || keeps_;
  for (const NodeId& node : nodes_) {
    if (auto report = census_.report(node)) tell_(node, *std::move(report));
  }
}

// Which index a device has outlives this process.
Async<void> DeviceWatch::keep() {
  if (!keeps_) co_return {};
  Result<void> kept = co_await worker_->run([this, text = census_text(census_.known())] {
    return env::write_file_atomically(file_, text, env::Access::kOwner);
  });
  keeps_ = !kept.ok();  // A full disk: again after the next look.
  co_return {};
}

std::vector<std::string> DeviceWatch::notices() const {
  std::vector<std::string> all = double_grants_;
  for (std::string& notice : census_.notices()) all.push_back(std::move(notice));
  if (trouble_)
    all.push_back("nobody watches the devices of this machine: " + trouble_->to_string());
  return all;
}

}  // namespace runnel::agent
