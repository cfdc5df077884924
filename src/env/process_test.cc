#include "env/process.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

using namespace std::chrono_literals;

// Where /proc has `hidepid`, another user's process has no entry.
TEST(ProcessState, AProcessThatIsHiddenIsNotGone) {
  constexpr int kCannot = 99;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65'534;
    const bool hides =
        ::unshare(CLONE_NEWNS) == 0 && ::mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) == 0 &&
        ::mount("proc", "/proc", "proc", 0, "hidepid=2") == 0 &&
        ::setgroups(0, nullptr) == 0 &&  // Of the group 0 nothing is hidden.
        ::setresgid(kNobody, kNobody, kNobody) == 0 && ::setresuid(kNobody, kNobody, kNobody) == 0;
    const bool is_hidden = !read_file("/proc/" + std::to_string(parent) + "/stat").ok();
    ::_exit(hides && is_hidden ? static_cast<int>(process_state(parent)) : kCannot);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kCannot) GTEST_SKIP() << "only root hides processes";
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ProcessState::kRuns));
}

class SpawnDetached : public ::testing::Test {
 protected:
  DetachedProcess shell(const std::string& script) const {
    return {.argv = {"/bin/sh", "-c", script},
            .environment = {"PATH=/usr/bin:/bin", "GREETING=hello"},
            .directory = folder_.path(),
            .log_file = folder_.file("log")};
  }

  // The text that the process has written once it says "done".
  std::string log_when_done() const {
    for (int i = 0; i < 500; ++i) {
      const std::string text = read_file(folder_.file("log")).value_or("");
      if (text.ends_with("done\n")) return text;
      std::this_thread::sleep_for(10ms);
    }
    return "the process never said done";
  }

  testing::TemporaryDirectory folder_;
};

TEST_F(SpawnDetached, RunsWithTheGivenEnvironmentFolderAndLog) {
  MUST(append_file(folder_.file("log"), "before\n"));
  MUST(spawn_detached(shell("echo $GREETING; pwd >&2; echo ${HOME-none}; echo done")));
  EXPECT_EQ(log_when_done(), "before\nhello\n" + folder_.path() + "\nnone\ndone\n");
}

TEST_F(SpawnDetached, ReturnsThePidOfAProcessThatIsNotOurChild) {
  const std::int64_t pid = MUST(spawn_detached(shell("echo $$; echo done; sleep 30")));
  EXPECT_EQ(log_when_done(), std::to_string(pid) + "\ndone\n");
  EXPECT_EQ(::waitpid(static_cast<pid_t>(pid), nullptr, WNOHANG), -1);
  EXPECT_NE(::getsid(static_cast<pid_t>(pid)), ::getsid(0));
  ::kill(static_cast<pid_t>(pid), SIGKILL);
}

TEST_F(SpawnDetached, InheritsNoFileAndNoSignalSetting) {
  const int leaked = ::open("/dev/null", O_RDONLY);  // Without close-on-exec.
  std::signal(SIGUSR1, SIG_IGN);
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  MUST(spawn_detached(
      shell("for f in /proc/$$/fd/*; do case ${f##*/} in [0-2]) ;; *) readlink $f;; esac; done; "
            "grep -E 'SigBlk|SigIgn' /proc/self/status; readlink /proc/$$/fd/0; echo done")));
  EXPECT_EQ(log_when_done(),
            "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n/dev/null\ndone\n");
  pthread_sigmask(SIG_UNBLOCK, &blocked, nullptr);
  std::signal(SIGUSR1, SIG_DFL);
  ::close(leaked);
}

TEST_F(SpawnDetached, HandsOnTheMaskThatThisProcessWasStartedWith) {
  const mode_t before = ::umask(022);
  EXPECT_EQ(keep_files_private(), 022U);
  ASSERT_TRUE(append_file(folder_.file("ours"), "x").ok());
  ASSERT_TRUE(make_directories(folder_.file("folder")).ok());
  ASSERT_TRUE(spawn_detached(shell("umask; echo done")).ok());
  EXPECT_EQ(log_when_done(), "0022\ndone\n");
  EXPECT_EQ(keep_files_private(), 022U) << "however often it is asked";
  ::umask(before);
  EXPECT_EQ(MUST(file_info(folder_.file("ours"))).mode, 0600U);
  EXPECT_EQ(MUST(file_info(folder_.file("folder"))).mode, 0700U);
}

TEST_F(SpawnDetached, ReportsWhatCannotBeRun) {
  DetachedProcess process = shell("");
  process.argv = {folder_.file("absent")};
  const Error error = spawn_detached(process).error();
  EXPECT_EQ(error.code, Errc::kNotFound);
  EXPECT_EQ(error.message, "start " + folder_.file("absent") + ": No such file or directory");
  process = shell("");
  process.directory = folder_.file("absent");
  EXPECT_EQ(spawn_detached(process).error().code, Errc::kNotFound);
  process = shell("");
  process.log_file = folder_.file("absent/log");
  EXPECT_EQ(spawn_detached(process).error().code, Errc::kNotFound);
}

TEST_F(SpawnDetached, LeavesNothingOpenHere) {
  const auto open_files = [] { return MUST(list_directory("/proc/self/fd")).size(); };
  const std::size_t before = open_files();
  MUST(spawn_detached(shell("echo done")));
  (void)log_when_done();
  EXPECT_EQ(open_files(), before);
}

TEST(Environment, IsReadable) {
  ASSERT_EQ(::setenv("RUNNEL_TEST_VARIABLE", "x=y", 1), 0);
  EXPECT_EQ(variable("RUNNEL_TEST_VARIABLE"), "x=y");
  const std::vector<std::string> all = environment();
  EXPECT_EQ(std::count(all.begin(), all.end(), "RUNNEL_TEST_VARIABLE=x=y"), 1);
  ::unsetenv("RUNNEL_TEST_VARIABLE");
  EXPECT_EQ(variable("RUNNEL_TEST_VARIABLE"), std::nullopt);
}

// Whether a process that was started with the search path shows it no more once it has forgotten.
bool forgets_the_search_path() {
  const std::string path = variable("PATH").value_or("");
  const auto shown = [&path] {
    return read_file("/proc/self/environ").value_or("").find("PATH=" + path) != std::string::npos;
  };
  if (path.empty() || !shown()) return false;
  forget_variables("PA");
  return !shown() && !variable("PATH");
}

TEST(Environment, IsForgottenWhereOthersCanReadIt) {
  const pid_t child = ::fork();  // The test itself needs it.
  if (child == 0) ::_exit(forgets_the_search_path() ? 0 : 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ExecutablePath, IsThisTest) {
  const std::string path = MUST(executable_path());
  EXPECT_TRUE(path.starts_with("/"));
  EXPECT_TRUE(path.ends_with("env_test")) << path;
}

TEST_F(SpawnDetached, PassesArgumentsUntouched) {
  DetachedProcess process = shell("for a in \"$@\"; do printf '<%s>\\n' \"$a\"; done; echo done");
  for (const char* argument : {"name", "two words", "$HOME", "*", "", "\"'\\"}) {
    process.argv.emplace_back(argument);
  }
  MUST(spawn_detached(process));
  EXPECT_EQ(log_when_done(), "<two words>\n<$HOME>\n<*>\n<>\n<\"'\\>\ndone\n");
}

TEST_F(SpawnDetached, ManyThreadsMayStartProcesses) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this, i] {
      DetachedProcess process = shell("echo done");
      process.log_file = folder_.file("log" + std::to_string(i));
      for (int n = 0; n < 3; ++n) MUST(spawn_detached(process));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < 4; ++i) {
    std::string text;
    for (int n = 0; n < 500 && text.size() < 15; ++n) {
      text = read_file(folder_.file("log" + std::to_string(i))).value_or("");
      std::this_thread::sleep_for(10ms);
    }
    EXPECT_EQ(text, "done\ndone\ndone\n");
  }
}

TEST_F(SpawnDetached, AFileThatMayNotRunIsDenied) {
  MUST(append_file(folder_.file("script"), "#!/bin/sh\necho done\n"));
  DetachedProcess process = shell("");
  process.argv = {folder_.file("script")};
  EXPECT_EQ(spawn_detached(process).error().code, Errc::kDenied);
}

using SpawnDetachedDeathTest = SpawnDetached;

TEST_F(SpawnDetachedDeathTest, MisuseIsOurBug) {
  DetachedProcess process = shell("");
  process.log_file.clear();
  EXPECT_DEATH((void)spawn_detached(process), "log file");
  process = shell("");
  process.argv = {"sh"};
  EXPECT_DEATH((void)spawn_detached(process), "PATH is not searched");
  process.argv.clear();
  EXPECT_DEATH((void)spawn_detached(process), "file to run");
}

TEST(ProcessRuns, UntilItEnds) {
  EXPECT_TRUE(process_runs(::getpid()));
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  while (process_runs(child)) ::usleep(1'000);
  EXPECT_EQ(::kill(child, 0), 0) << "nobody has waited for it";
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(process_runs(child));
}

// The variable USER for as long as this lives.
class UserVariable {
 public:
  explicit UserVariable(const char* value) : before_(variable("USER")) { set(value); }
  ~UserVariable() { set(before_ ? before_->c_str() : nullptr); }
  UserVariable(const UserVariable&) = delete;
  UserVariable& operator=(const UserVariable&) = delete;

 private:
  static void set(const char* value) {
    if (value == nullptr) {
      ::unsetenv("USER");
    } else {
      ::setenv("USER", value, 1);
    }
  }
  std::optional<std::string> before_;
};

TEST(UserName, IsTheShellsElseTheSystems) {
  {
    const UserVariable user("ann");
    EXPECT_EQ(user_name(), "ann");
  }
  const passwd* entry = ::getpwuid(::geteuid());
  const std::string known = entry == nullptr ? std::to_string(::geteuid()) : entry->pw_name;
  for (const char* value : {static_cast<const char*>(nullptr), ""}) {
    const UserVariable user(value);
    EXPECT_EQ(user_name(), known);
  }
}

TEST(IsBeingKilled, NobodyWhoRunsOrIsGone) {
  EXPECT_FALSE(is_being_killed(::getpid()));
  EXPECT_FALSE(is_being_killed(0));
}

TEST(ProcessOf, AThreadIsOfItsProcess) {
  EXPECT_EQ(process_of(::getpid()), ::getpid());
  std::int64_t thread = 0;
  std::int64_t process = 0;
  std::thread([&] {
    thread = ::gettid();
    process = process_of(thread);
  }).join();
  EXPECT_NE(thread, ::getpid());
  EXPECT_EQ(process, ::getpid());
  EXPECT_EQ(process_of(0), 0);
}

TEST(ProcessStates, AreThoseOfRunningStoppedAndGoneProcesses) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  ASSERT_GT(child, 0);
  EXPECT_EQ(process_state(child), ProcessState::kRuns);
  EXPECT_EQ(::kill(child, SIGSTOP), 0);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, WUNTRACED), child);
  EXPECT_EQ(process_state(child), ProcessState::kStopped);
  EXPECT_TRUE(process_runs(child));
  EXPECT_EQ(::kill(child, SIGKILL), 0);
  siginfo_t ended{};
  EXPECT_EQ(::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_EQ(process_state(child), ProcessState::kGone) << "nobody has waited for it";
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(process_state(child), ProcessState::kGone);
  EXPECT_FALSE(process_runs(child));
}

}  // namespace
}  // namespace runnel::env
