#include "env/signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstddef>

namespace runnel::env {

void restore_default_signals() {
  // All zero is SIG_DFL without flags, in the kernel's own layout (not the library's).
  constexpr std::array<unsigned long, 4> kDefault{};
  constexpr std::size_t kKernelSetBytes = (NSIG - 1) / 8;
  for (int number = 1; number < NSIG; ++number) {
    ::syscall(SYS_rt_sigaction, number, kDefault.data(), nullptr, kKernelSetBytes);
  }
}

void end_after(Duration most) {
  (void)::signal(SIGALRM, SIG_DFL);
  ::alarm(static_cast<unsigned>((most.millis() + 999) / 1'000));
}

}  // namespace runnel::env
