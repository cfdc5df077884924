#include "home/halt_unfinished.h"

#include <memory>
#include <utility>

#include "async/event_loop.h"
#include "control/controller.h"
#include "control/secrets.h"
#include "env/clock.h"
#include "env/random.h"
#include "store/sqlite/sqlite_log.h"

namespace runnel::home {
namespace {

Async<std::vector<JobId>> halt_all(control::Controller* controller) {
  std::vector<JobId> unfinished;
  for (const auto& [id, job] : controller->state().jobs) {
    if (!model::is_end(job.status) && job.status != model::Status::kPaused)
      unfinished.push_back(id);
  }
  for (const JobId& job : unfinished) {
    control::JobCall call;
    call.verb = model::JobRequest::Verb::kHalt;
    call.job = job;
    call.actor = "fsck";
    CO_TRY(co_await controller->call(std::move(call)));
  }
  co_return unfinished;
}

// Without a node, whose link orders would go to.
Async<std::vector<JobId>> open_and_halt(async::EventLoop* loop, Home home) {
  const env::Clock& clock = env::real_clock();
  control::FileSecrets secrets(home.secrets());
  control::ControllerOptions options;
  options.log.time = std::make_shared<control::FileHomeTime>(home.time());
  options.salt = env::real_random().next();
  const std::unique_ptr<control::Controller> controller = CO_TRY(co_await control::Controller::open(
      *loop, env::real_clock(),
      [path = home.event_log(), &clock] { return store::open_sqlite_log(path, clock); }, secrets,
      std::move(options)));
  Result<std::vector<JobId>> halted = co_await halt_all(controller.get());
  CO_TRY(co_await controller->stop());
  co_return halted;
}

}  // namespace

Result<std::vector<JobId>> halt_unfinished(const Home& home) {
  const std::unique_ptr<async::EventLoop> loop = TRY(async::EventLoop::create());
  return loop->block_on(open_and_halt(loop.get(), home));
}

}  // namespace runnel::home
