#include "agent/device_look.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "agent/nvml.h"
#include "base/check.h"
#include "env/files.h"
#include "env/subprocess.h"
#include "model/detail/words.h"
#include "model/fields.h"

namespace runnel::agent {

constexpr model::detail::Words<2> kLookWords = {"nvml", "files"};

std::string_view to_string(DeviceLook::By by) { return model::detail::word_of(by, kLookWords); }

Result<DeviceLook::By> parse_look_way(std::string_view word) {
  return model::detail::parse_word<DeviceLook::By>(word, kLookWords, "a way to look at devices");
}

}  // namespace runnel::agent

namespace runnel::model {

template <>
struct Form<agent::DeviceLook::By> : WordForm<agent::DeviceLook::By, agent::parse_look_way> {};

template <>
struct Fields<agent::SeenDevice> {
  static void visit(auto& visit, auto& device) {
    visit("fault", device.fault);
    visit("id", device.id);
    visit("index", device.index);
    visit("memory", device.memory);
    visit("mig", device.mig);
    visit("name", device.name);
  }
};

template <>
struct Fields<agent::DeviceProcess> {
  static void visit(auto& visit, auto& process) {
    visit("memory", process.memory);
    visit("percent", process.percent);
    visit("pid", process.pid);
  }
};

template <>
struct Fields<agent::DeviceLook> {
  static void visit(auto& visit, auto& look) {
    visit("by", look.by);
    visit("devices", look.devices);
    visit("problem", look.problem);
    visit("processes", look.processes);
  }
};

}  // namespace runnel::model

namespace runnel::agent {
namespace {

// "nvidia3" is 3; nvidiactl, nvidia-uvm and the like are none.
std::optional<std::int64_t> number_of(std::string_view file) {
  constexpr std::string_view kPrefix = "nvidia";
  if (!file.starts_with(kPrefix)) return std::nullopt;
  const std::string_view digits = file.substr(kPrefix.size());
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(digits.begin(), digits.end(), number);
  const bool whole = problem == std::errc() && end == digits.end() && digits.front() != '-';
  return whole ? std::optional(number) : std::nullopt;
}

Result<std::vector<SeenDevice>> look_by_files(const std::string& dev) {
  std::vector<SeenDevice> devices;
  for (const std::string& file : TRY(env::list_directory(dev))) {
    const std::optional<std::int64_t> number = number_of(file);
    if (!number) continue;
    SeenDevice device;
    device.id = dev + "/" + file;
    device.index = *number;
    const Result<env::FileInfo> info = env::file_info(device.id);
    if (info.ok() && info->kind == env::FileKind::kOther) devices.push_back(std::move(device));
  }
  std::ranges::sort(devices, {}, &SeenDevice::index);
  return devices;
}

}  // namespace

DeviceLook look_at_devices(Processes processes, const std::string& dev) {
  Result<DeviceLook> look = look_by_nvml(processes);
  if (look.ok()) return *std::move(look);
  if (look.error().code != Errc::kNotFound) {
    return {DeviceLook::By::kNvml, {}, look.error().message, {}};
  }
  Result<std::vector<SeenDevice>> devices = look_by_files(dev);
  if (!devices.ok()) return {DeviceLook::By::kFiles, {}, devices.error().message, {}};
  return {DeviceLook::By::kFiles, *std::move(devices), "", {}};
}

std::string look_text(const DeviceLook& look) { return model::record_text(look); }

Result<DeviceLook> parse_look(std::string_view text) {
  return model::parse_record<DeviceLook>(text);
}

Result<DeviceLook> look_in_process(const std::vector<std::string>& command, Duration patience) {
  CHECK(!command.empty(), "nobody is named who would look");
  Result<std::string> text = env::output_of({.argv = command, .runs_at_most = patience});
  if (text.ok()) {
    DeviceLook look = TRY(parse_look(*text));
    if (look.problem.empty()) return look;
    return Error(Errc::kUnavailable, look.problem).with_hint("see nvidia-smi and dmesg");
  }
  if (text.error().code != Errc::kTimeout) return text.error();
  return Error(Errc::kTimeout,
               "the driver of this machine's devices has not answered for " + human(patience))
      .with_hint("see dmesg; what runs goes on, and it is asked again by and by");
}

}  // namespace runnel::agent
