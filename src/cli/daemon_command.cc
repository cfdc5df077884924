#include <string>

#include "agent/device_look.h"
#include "agent/device_watch.h"
#include "cli/commands.h"
#include "cli/print.h"
#include "env/signals.h"
#include "home/serve.h"
#include "runner/runner.h"

namespace runnel::cli {

int run_daemon(const home::Home& home) {
  const Result<void> served =
      home::serve(home, [](const std::string& sentence) { say("runnel daemon: " + sentence); });
  return served.ok() ? 0 : fail(served.error());
}

int tell_devices(const Arguments& arguments) {
  // Who asks ends it after that time, and may be gone by then.
  env::end_after(agent::DeviceWatch::kAnswersWithin * 2);
  const auto processes = arguments.processes ? agent::Processes::kYes : agent::Processes::kNo;
  put(agent::look_text(agent::look_at_devices(processes)));
  return 0;
}

int run_runner(const home::Home& home) {
  runner::RunnerOptions options;
  options.home = home.root;
  return runner::runner_main(options);
}

}  // namespace runnel::cli
