// The floor of running processes: posix_spawn and waitpid, two in flight, and nothing else.
//   bare_spawn_bench COUNT COMMAND [ARGUMENT...]     prints processes per second
#include <spawn.h>
#include <sys/wait.h>

#include <chrono>
#include <cstdio>
#include <string>

extern char** environ;

namespace {

constexpr int kInFlight = 2;

bool start(char** argv) {
  pid_t pid = 0;
  return posix_spawnp(&pid, argv[0], nullptr, nullptr, argv, environ) == 0;
}

double now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int count = std::stoi(argv[1]);
  const double begin = now();
  int started = 0;
  for (int ended = 0; ended < count; ++ended) {
    while (started < count && started - ended < kInFlight) {
      if (!start(argv + 2)) return 1;
      ++started;
    }
    if (waitpid(-1, nullptr, 0) < 0) return 1;
  }
  std::printf("%.1f\n", count / (now() - begin));
  return 0;
}
