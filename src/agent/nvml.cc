#include "agent/nvml.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "env/clock.h"
#include "env/dynamic_library.h"

// The part of NVML that is used, by its documented binary interface: neither a header of it nor the
// library is needed to build.
namespace runnel::agent {
namespace {

constexpr const char* kLibrary = "libnvidia-ml.so.1";
constexpr unsigned kTextMax = 96;  // NVML_DEVICE_UUID_V2_BUFFER_SIZE, and as much for a name.
constexpr std::int64_t kDevicesMax = 1'024;
constexpr int kSuccess = 0;

using NvmlDevice = struct nvmlDevice_st*;
struct NvmlMemory {
  unsigned long long total = 0;
  unsigned long long free = 0;
  unsigned long long used = 0;
};

struct NvmlProcess {  // nvmlProcessInfo_t of the functions _v2 and _v3.
  unsigned pid = 0;
  unsigned long long memory = 0;
  unsigned gpu_instance = 0;
  unsigned compute_instance = 0;
};
struct NvmlUse {  // nvmlProcessUtilizationSample_t.
  unsigned pid = 0;
  unsigned long long at = 0;  // In microseconds of the time of day.
  unsigned percent = 0;
  unsigned memory_percent = 0;
  unsigned encoder_percent = 0;
  unsigned decoder_percent = 0;
};
constexpr std::size_t kProcessesMax = 4'096;  // On one device.
constexpr unsigned long long kMemoryUnknown = ~0ULL;

class Nvml {
 public:
  static Result<Nvml> open() {
    Nvml nvml(TRY(env::DynamicLibrary::open(kLibrary)));
    const bool whole =
        nvml.find("nvmlInit_v2", nvml.init_) && nvml.find("nvmlShutdown", nvml.shutdown_) &&
        nvml.find("nvmlErrorString", nvml.error_string_) &&
        nvml.find("nvmlDeviceGetCount_v2", nvml.count_) &&
        nvml.find("nvmlDeviceGetHandleByIndex_v2", nvml.handle_) &&
        nvml.find("nvmlDeviceGetUUID", nvml.uuid_) && nvml.find("nvmlDeviceGetName", nvml.name_) &&
        nvml.find("nvmlDeviceGetMemoryInfo", nvml.memory_);
    if (!whole) {
      return Error(Errc::kUnavailable,
                   std::string(kLibrary) + " is too old to be asked: update the NVIDIA driver");
    }
    (void)nvml.find("nvmlDeviceGetMigMode", nvml.mig_mode_);  // From drivers of 2020 on.
    (void)nvml.find("nvmlDeviceGetProcessUtilization", nvml.uses_);
    if (!nvml.find("nvmlDeviceGetComputeRunningProcesses_v3", nvml.processes_)) {
      (void)nvml.find("nvmlDeviceGetComputeRunningProcesses_v2", nvml.processes_);
    }
    return nvml;
  }

  Result<DeviceLook> look(Processes processes) const {
    TRY(said(init_(), "start"));
    Result<DeviceLook> found = look_at_all(processes);
    (void)shutdown_();
    return found;
  }

 private:
  explicit Nvml(env::DynamicLibrary library) : library_(std::move(library)) {}

  template <typename Function>
  bool find(const char* name, Function*& function) {
    return library_.find(name, function).ok();
  }

  Result<void> said(int code, const std::string& what) const {
    if (code == kSuccess) return {};
    return Error(Errc::kUnavailable, "NVML does not " + what + ": " + error_string_(code));
  }

  Result<DeviceLook> look_at_all(Processes processes) const {
    unsigned count = 0;
    TRY(said(count_(&count), "count its devices"));
    CHECK(count <= kDevicesMax, "a driver with more devices than a machine has room for");
    DeviceLook look;
    look.devices.reserve(count);
    for (unsigned index = 0; index < count; ++index) {
      look.devices.push_back(look_at(index));
      if (processes == Processes::kYes) add_processes(index, look.processes);
    }
    return look;
  }

  // A device that does not tell has none.
  void add_processes(unsigned index, std::vector<DeviceProcess>& into) const {
    NvmlDevice device = nullptr;
    std::vector<NvmlProcess> found(kProcessesMax);
    unsigned count = kProcessesMax;
    if (processes_ == nullptr || handle_(index, &device) != kSuccess) return;
    if (processes_(device, &count, found.data()) != kSuccess) return;
    const std::map<unsigned, unsigned> percents = percents_of(device);
    for (const NvmlProcess& process :
         std::span(found).first(std::min<std::size_t>(count, kProcessesMax))) {
      const auto percent = percents.find(process.pid);
      const bool known = process.memory != kMemoryUnknown;
      into.push_back({process.pid, percent == percents.end() ? 0 : percent->second,
                      Bytes::count(known ? static_cast<std::int64_t>(process.memory) : 0)});
    }
  }

  // By process, of the newest sample of each in the last second: of who rests there is none.
  std::map<unsigned, unsigned> percents_of(NvmlDevice device) const {
    std::map<unsigned, unsigned> percents;
    std::vector<NvmlUse> uses(kProcessesMax);
    unsigned count = kProcessesMax;
    const auto since =
        static_cast<unsigned long long>(env::real_clock().wall().millis() - 1'000) * 1'000;
    if (uses_ == nullptr || uses_(device, uses.data(), &count, since) != kSuccess) return percents;
    uses.resize(std::min<std::size_t>(count, kProcessesMax));
    std::ranges::sort(uses, {}, &NvmlUse::at);
    for (const NvmlUse& use : uses) percents[use.pid] = use.percent;
    return percents;
  }

  // A device that is lost fails at the first question or at one of the next.
  SeenDevice look_at(unsigned index) const {
    SeenDevice seen;
    seen.index = index;
    NvmlDevice device = nullptr;
    std::array<char, kTextMax> uuid{};
    std::array<char, kTextMax> name{};
    NvmlMemory memory;
    int code = handle_(index, &device);
    if (code == kSuccess) code = uuid_(device, uuid.data(), kTextMax);
    if (code == kSuccess) seen.id = uuid.data();
    if (code == kSuccess) code = name_(device, name.data(), kTextMax);
    if (code == kSuccess) code = memory_(device, &memory);
    if (code != kSuccess) seen.fault = std::string("NVML: ") + error_string_(code);
    seen.name = name.data();
    seen.memory = Bytes::count(static_cast<std::int64_t>(memory.total));
    unsigned now = 0;
    unsigned pending = 0;
    const bool asked = code == kSuccess && mig_mode_ != nullptr;
    seen.mig = asked && mig_mode_(device, &now, &pending) == kSuccess && now == 1;
    return seen;
  }

  env::DynamicLibrary library_;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  const char* (*error_string_)(int) = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, NvmlDevice*) = nullptr;
  int (*uuid_)(NvmlDevice, char*, unsigned) = nullptr;
  int (*name_)(NvmlDevice, char*, unsigned) = nullptr;
  int (*memory_)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*mig_mode_)(NvmlDevice, unsigned*, unsigned*) = nullptr;
  int (*processes_)(NvmlDevice, unsigned*, NvmlProcess*) = nullptr;
  int (*uses_)(NvmlDevice, NvmlUse*, unsigned*, unsigned long long) = nullptr;
};

}  // namespace

Result<DeviceLook> look_by_nvml(Processes processes) {
  const Nvml nvml = TRY(Nvml::open());
  return nvml.look(processes);
}

}  // namespace runnel::agent
