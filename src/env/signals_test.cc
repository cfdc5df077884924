#include "env/signals.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include <gtest/gtest.h>

namespace runnel::env {
namespace {

constexpr int kOfTheLibrary = 33;  // Below SIGRTMIN: glibc's sigaction() refuses it.

using KernelAction = std::array<unsigned long, 4>;

unsigned long handler_of(int number) {
  KernelAction action{};
  ::syscall(SYS_rt_sigaction, number, nullptr, action.data(), 8UL);
  return action[0];
}

void ignore(int number) {
  const KernelAction action{reinterpret_cast<unsigned long>(SIG_IGN)};
  ::syscall(SYS_rt_sigaction, number, action.data(), nullptr, 8UL);
}

TEST(RestoreDefaultSignals, ReachesEverySignal) {
  const unsigned long ignored = reinterpret_cast<unsigned long>(SIG_IGN);
  for (const int number : {SIGPIPE, SIGUSR1, kOfTheLibrary, SIGRTMAX}) ignore(number);
  ASSERT_EQ(handler_of(kOfTheLibrary), ignored);
  restore_default_signals();
  for (int number = 1; number <= SIGRTMAX; ++number) EXPECT_EQ(handler_of(number), 0U) << number;
}

TEST(EndAfter, EndsAProcessThatHangs) {
  const pid_t child = ::fork();
  if (child == 0) {
    end_after(Duration::millis(10));  // A second is the least.
    for (;;) ::pause();
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGALRM);
}

}  // namespace
}  // namespace runnel::env
