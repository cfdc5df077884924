#include "agent/nvml.h"

#include <dlfcn.h>

#include <array>
#include <memory>

#include "base/check.h"

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

struct CloseLibrary {
  void operator()(void* library) const { (void)::dlclose(library); }
};

class Nvml {
 public:
  static Result<Nvml> open() {
    std::unique_ptr<void, CloseLibrary> library(::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL));
    if (!library) return Error(Errc::kNotFound, std::string(kLibrary) + " is not installed here");
    Nvml nvml(std::move(library));
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
    return nvml;
  }

  Result<std::vector<SeenDevice>> look() const {
    TRY(said(init_(), "start"));
    Result<std::vector<SeenDevice>> devices = look_at_all();
    (void)shutdown_();
    return devices;
  }

 private:
  explicit Nvml(std::unique_ptr<void, CloseLibrary> library) : library_(std::move(library)) {}

  template <typename Function>
  bool find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(library_.get(), name));
    return function != nullptr;
  }

  Result<void> said(int code, const std::string& what) const {
    if (code == kSuccess) return {};
    return Error(Errc::kUnavailable, "NVML does not " + what + ": " + error_string_(code));
  }

  Result<std::vector<SeenDevice>> look_at_all() const {
    unsigned count = 0;
    TRY(said(count_(&count), "count its devices"));
    CHECK(count <= kDevicesMax, "a driver with more devices than a machine has room for");
    std::vector<SeenDevice> devices;
    devices.reserve(count);
    for (unsigned index = 0; index < count; ++index) devices.push_back(look_at(index));
    return devices;
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

  std::unique_ptr<void, CloseLibrary> library_;
  int (*init_)() = nullptr;
  int (*shutdown_)() = nullptr;
  const char* (*error_string_)(int) = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, NvmlDevice*) = nullptr;
  int (*uuid_)(NvmlDevice, char*, unsigned) = nullptr;
  int (*name_)(NvmlDevice, char*, unsigned) = nullptr;
  int (*memory_)(NvmlDevice, NvmlMemory*) = nullptr;
  int (*mig_mode_)(NvmlDevice, unsigned*, unsigned*) = nullptr;
};

}  // namespace

Result<std::vector<SeenDevice>> look_by_nvml() {
  const Nvml nvml = TRY(Nvml::open());
  return nvml.look();
}

}  // namespace runnel::agent
