#include "agent/gpu_sampler.h"

#include "agent/device_look.h"

namespace runnel::agent {
namespace {

std::vector<std::string> with_processes(std::vector<std::string> command) {
  if (!command.empty()) command.emplace_back(kWithProcesses);
  return command;
}

// Nothing where only the files of devices were seen: they do not say who uses them.
std::optional<GpuSample> uses_of(const Result<DeviceLook>& look) {
  if (!look.ok() || look->by != DeviceLook::By::kNvml) return std::nullopt;
  GpuSample sample;
  for (const DeviceProcess& process : look->processes) {
    GpuUse& use = sample[static_cast<pid_t>(process.pid)];
    use.percent += process.percent;
    use.memory = use.memory + process.memory;
  }
  return sample;
}

}  // namespace

GpuSampler::GpuSampler(std::vector<std::string> command)
    : command_(with_processes(std::move(command))) {}

std::optional<GpuSample> GpuSampler::sample(Duration now) {
  if (command_.empty() || (ask_again_ && now < *ask_again_)) return last_;
  const Result<DeviceLook> look = look_in_process(command_, kAnswersWithin);
  const bool hangs = !look.ok() && look.error().code == Errc::kTimeout;
  ask_again_ = now + (hangs ? kAnswersWithin + kLeftAlone : kFresh);
  last_ = uses_of(look);
  return last_;
}

}  // namespace runnel::agent
