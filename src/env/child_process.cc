#include "env/child_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "env/detail/descriptor.h"

namespace runnel::env {
namespace {

class SpawnPlan {
 public:
  SpawnPlan() {
    CHECK(::posix_spawn_file_actions_init(&files_) == 0, "no memory for a list of files");
    CHECK(::posix_spawnattr_init(&settings_) == 0, "no memory for settings of a process");
    sigset_t none;
    sigset_t all;
    ::sigemptyset(&none);
    ::sigfillset(&all);
    ::posix_spawnattr_setsigmask(&settings_, &none);
    ::posix_spawnattr_setsigdefault(&settings_, &all);
    ::posix_spawnattr_setflags(&settings_,
                               POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&settings_);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;

  void give(int descriptor, int number) {
    const int added = ::posix_spawn_file_actions_adddup2(&files_, descriptor, number);
    CHECK(added == 0, "a file of this process has a number");
  }
  Result<std::int64_t> start(const std::vector<std::string>& argv) const {
    std::vector<char*> words;
    words.reserve(argv.size() + 1);
    for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    pid_t pid = 0;
    const int problem =
        ::posix_spawn(&pid, words.front(), &files_, &settings_, words.data(), ::environ);
    if (problem != 0) return errno_error("start " + argv.front(), problem);
    return pid;
  }

 private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t settings_;
};

}  // namespace

Result<std::int64_t> spawn_child(const ChildProcess& process) {
  int behind = 0;
  for (const auto& each : process.given) behind = std::max(behind, each.number + 1);
  SpawnPlan plan;
  std::vector<detail::Descriptor> copies;
  for (const auto& each : process.given) {
    // Copied out of the way first: the number of one may be where another is.
    detail::Descriptor copy(::fcntl(each.descriptor, F_DUPFD_CLOEXEC, behind));
    if (!copy.is_open()) return errno_error("copy a file for " + process.argv.front(), errno);
    plan.give(copy.number(), each.number);
    copies.push_back(std::move(copy));
  }
  return plan.start(process.argv);
}

}  // namespace runnel::env
