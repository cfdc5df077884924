#include "env/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include <gtest/gtest.h>

namespace runnel::env {
namespace {

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0); }
  ~Pipe() {
    for (const int end : ends) ::close(end);
  }
  std::string read() const {
    std::array<char, 100> bytes{};
    const ssize_t size = ::read(ends[0], bytes.data(), bytes.size());
    return std::string(bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  }
  std::array<int, 2> ends{};
};

int status_of(std::int64_t pid) {
  int status = 0;
  EXPECT_EQ(::waitpid(static_cast<pid_t>(pid), &status, 0), pid);
  return status;
}

std::int64_t shell(const std::string& script, std::vector<ChildProcess::Given> given) {
  return MUST(spawn_child({.argv = {"/bin/sh", "-c", script}, .given = std::move(given)}));
}

TEST(ChildProcess, HasWhatItIsGivenUnderTheNumbersItKnows) {
  const Pipe one;
  const Pipe other;
  // Each where the other is: neither may be overwritten before it is handed on.
  const std::string script = "echo one >&" + std::to_string(other.ends[1]) + "; echo other >&" +
                             std::to_string(one.ends[1]);
  const std::int64_t pid =
      shell(script, {{one.ends[1], other.ends[1]}, {other.ends[1], one.ends[1]}});
  EXPECT_EQ(status_of(pid), 0);
  EXPECT_EQ(one.read(), "one\n");
  EXPECT_EQ(other.read(), "other\n");
}

TEST(ChildProcess, HasNoOtherFileOfOurs) {
  const Pipe pipe;
  const Pipe ours;
  const std::string script = "ls /proc/$$/fd | tr '\\n' ' ' >&9; : " + std::to_string(ours.ends[0]);
  EXPECT_EQ(status_of(shell(script, {{pipe.ends[1], 9}})), 0);
  EXPECT_EQ(pipe.read().find(" " + std::to_string(ours.ends[0]) + " "), std::string::npos);
}

TEST(ChildProcess, StandsInASessionOfItsOwnWithSignalsAtTheirDefaults) {
  sigset_t set;
  sigset_t before;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, &before);
  const std::int64_t pid = shell("kill -TERM $$; sleep 30", {});
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  EXPECT_NE(::getsid(static_cast<pid_t>(pid)), ::getsid(0));
  const int status = status_of(pid);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
}

TEST(ChildProcess, ThatIsNotThereIsAnError) {
  EXPECT_EQ(spawn_child({.argv = {"/nowhere/program"}, .given = {}}).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace runnel::env
