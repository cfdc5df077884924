#include "runner/process_tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "env/clock.h"

namespace runnel::runner {
namespace {

// A child with this environment, killed and reaped at the end.
class Child {
 public:
  Child(const char* script, const char* argument, const char* variable) : pid_(::fork()) {
    if (pid_ != 0) return;
    const char* const words[] = {"/bin/sh", "-c", script, script, argument, nullptr};
    const char* const variables[] = {variable, nullptr};
    ::execve(words[0], const_cast<char* const*>(words), const_cast<char* const*>(variables));
    ::_exit(127);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }
  bool is_stopped() const {
    ProcessStat stat;
    return read_stat(pid_, stat) && stat.state == 'T';
  }

 private:
  pid_t pid_;
};

constexpr Duration kPatience = Duration::seconds(60);

// Waits until it is true, and fails with `what` when it does not become so.
template <typename Truth>
void wait_until(const char* what, Truth truth) {
  const Duration end = env::real_clock().boot() + kPatience;
  while (!truth()) {
    ASSERT_LT(env::real_clock().boot(), end)
        << what << " did not become true within " << human(kPatience);
    ::usleep(100);
  }
}

// A reader that gets "" there takes a process of an attempt for a stranger's.
TEST(ProcessTree, AProcessThatExecsAgainAndAgainNeverSeemsToHaveNoEnvironment) {
  const Child child("[ $1 -gt 0 ] || kill -STOP $$; exec /bin/sh -c \"$0\" \"$0\" $(($1 - 1))",
                    "1000", "ROUND=first");
  ASSERT_NO_FATAL_FAILURE(wait_until("that the child has its environment", [&] {
    return environment_value(child.pid(), "ROUND") == "first";
  }));
  const Duration end = env::real_clock().boot() + kPatience;
  int looks = 0;
  for (; !child.is_stopped(); ++looks) {
    const std::optional<std::string> value = environment_value(child.pid(), "ROUND");
    ASSERT_TRUE(!value || *value == "first") << "'" << *value << "' at look " << looks;
    ASSERT_LT(env::real_clock().boot(), end) << "the child still execs after " << looks << " looks";
  }
  EXPECT_GT(looks, 100);
}

TEST(ProcessTree, AnEmptyEnvironmentIsNotTakenForAnExec) {
  const Child child("kill -STOP $$", "", nullptr);
  ASSERT_NO_FATAL_FAILURE(wait_until("that the child stops", [&] { return child.is_stopped(); }));
  EXPECT_EQ(environment_value(child.pid(), "ROUND"), "");
}

TEST(ProcessTree, AProcessHasAnOwnerWhileItIsThere) {
  pid_t gone = 0;
  {
    const Child child("kill -STOP $$", "", nullptr);
    gone = child.pid();
    EXPECT_EQ(owner_of(gone), ::geteuid());
  }
  EXPECT_EQ(owner_of(gone), std::nullopt);
}

TEST(ProcessTree, NoProcessHasNoEnvironment) {
  pid_t gone = 0;
  {
    const Child child("exit 0", "", "ROUND=first");
    gone = child.pid();
  }
  EXPECT_EQ(environment_value(gone, "ROUND"), "");
}

}  // namespace
}  // namespace runnel::runner
