"""A library that stands in for NVML, NVIDIA's own, where there is no GPU.

Its file `devices` has a line for each device that the driver has, "UUID NAME"; "hang" instead of the first hangs for good,
"crash" ends the process that asks.
"""

import subprocess

FAKE_NVML = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
static char lines[64][128];
static unsigned count;
int nvmlInit_v2(void) {
  FILE* file = fopen(DEVICES, "r");
  if (!file) return 9;
  for (count = 0; count < 64 && fgets(lines[count], 128, file); ++count) {
    lines[count][strcspn(lines[count], "\n")] = 0;
    if (!strcmp(lines[count], "hang")) for (;;) pause();
    if (!strcmp(lines[count], "crash")) abort();
  }
  fclose(file);
  return 0;
}
int nvmlShutdown(void) { return 0; }
const char* nvmlErrorString(int code) { return code == 15 ? "GPU is lost" : "Driver Not Loaded"; }
int nvmlDeviceGetCount_v2(unsigned* out) { *out = count; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** out) { *out = lines[index]; return 0; }
int nvmlDeviceGetUUID(void* device, char* out, unsigned size) {
  snprintf(out, size, "%.*s", (int)strcspn(device, " "), (char*)device);
  return 0;
}
int nvmlDeviceGetName(void* device, char* out, unsigned size) {
  snprintf(out, size, "%s", strchr(device, ' ') + 1);
  return 0;
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* out) {
  out[0] = 80ull << 30;
  out[1] = out[2] = 40ull << 30;
  return strstr(device, "LOST") ? 15 : 0;
}
typedef struct { unsigned pid; unsigned long long memory; unsigned gpu, compute; } Process;
typedef struct { unsigned pid; unsigned long long at; unsigned percents[4]; } Use;
static unsigned users(void* device, Process* processes, Use* uses) {
  unsigned found = 0, index, pid, percent, mebi;
  struct timeval now;
  FILE* file = fopen(PROCESSES, "r");
  gettimeofday(&now, NULL);
  while (file && fscanf(file, "%u %u %u %u", &index, &pid, &percent, &mebi) == 4) {
    if (device != (void*)lines[index]) continue;
    if (processes) processes[found] = (Process){pid, (unsigned long long)mebi << 20, 0, 0};
    if (uses) uses[found] = (Use){pid, now.tv_sec * 1000000ull + now.tv_usec, {percent}};
    ++found;
  }
  if (file) fclose(file);
  return found;
}
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* out) {
  *count = users(device, out, NULL);
  return 0;
}
int nvmlDeviceGetProcessUtilization(void* device, Use* out, unsigned* count, unsigned long long since) {
  struct timeval now;
  gettimeofday(&now, NULL);
  if (since > now.tv_sec * 1000000ull || since + 60000000ull < now.tv_sec * 1000000ull) return 2;
  *count = users(device, NULL, out);
  return *count ? 0 : 6;
}
"""


class FakeNvml:
    def __init__(self, runnel, count):
        folder = runnel.work / "nvml"
        folder.mkdir()
        (folder / "nvml.c").write_text(FAKE_NVML)
        library = str(folder / "libnvidia-ml.so.1")
        subprocess.run(["cc", "-shared", "-fPIC", f"-DDEVICES=\"{folder}/devices\"", f"-DPROCESSES=\"{folder}/processes\"",
                        "-o", library, folder / "nvml.c"], check=True)
        self.path = folder / "devices"
        self.lines = [f"GPU-{each} NVIDIA H100 80GB HBM3" for each in range(count)]
        self.have(range(count))
        runnel.env["LD_LIBRARY_PATH"] = str(folder)

    def have(self, numbers):
        self.say("".join(self.lines[number] + "\n" for number in numbers))

    def run(self, uses):
        """`uses`: (device, pid, percent of its time, MiB) of each process on a device."""
        text = "".join(" ".join(map(str, use)) + "\n" for use in uses)
        (self.path.parent / "processes.new").write_text(text)
        (self.path.parent / "processes.new").rename(self.path.parent / "processes")

    def say(self, text):
        self.path.with_suffix(".new").write_text(text)
        self.path.with_suffix(".new").rename(self.path)
