#include "runner/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>

#include "base/check.h"

namespace runnel::runner {
namespace {

constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";
// The kernel's limits for one argument or variable, and what /bin/sh cannot be given either.
constexpr std::size_t kArgumentBytesMax = 128 * 1024;

enum class Step : int { kNone, kGroup, kWorkdir, kExec };

// Filled by the child, which shares our memory until it has called exec.
struct ChildFailure {
  volatile int step = 0;
  volatile int error = 0;
};

struct ChildPlan {
  const char* file;
  char* const* argv;
  char* const* env;
  const SpawnRequest* request;
  const sigset_t* no_signals;
};

[[noreturn]] void leave_child(ChildFailure& failure, Step step) {
  failure.error = errno;
  failure.step = static_cast<int>(step);
  ::_exit(127);
}

// Runs in the child on the parent's memory: system calls only.
[[noreturn]] void become(const ChildPlan& plan, ChildFailure& failure) {
  const SpawnRequest& request = *plan.request;
  ::setpgid(0, 0);
  if (request.memory_group >= 0 && ::write(request.memory_group, "0", 1) < 0) {
    leave_child(failure, Step::kGroup);
  }
  ::dup2(request.input, STDIN_FILENO);
  ::dup2(request.output, STDOUT_FILENO);
  ::dup2(request.error, STDERR_FILENO);
  if (::chdir(request.workdir) != 0) leave_child(failure, Step::kWorkdir);
  if (request.file_mask) ::umask(*request.file_mask);
  if (request.open_files != nullptr) ::setrlimit(RLIMIT_NOFILE, request.open_files);
  ::sigprocmask(SIG_SETMASK, plan.no_signals, nullptr);
  ::execve(plan.file, plan.argv, plan.env);
  leave_child(failure, Step::kExec);
}

__attribute__((noinline)) pid_t vfork_and_become(const ChildPlan& plan, ChildFailure& failure) {
  const pid_t pid = ::vfork();  // NOLINT(*insecureAPI.vfork,bugprone-unsafe-functions)
  if (pid == 0) become(plan, failure);
  return pid;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> list;
  list.reserve(texts.size() + 1);
  for (const std::string& text : texts) list.push_back(const_cast<char*>(text.c_str()));
  list.push_back(nullptr);
  return list;
}

std::string sentence(std::string what, int error) {
  return what.append(": ").append(std::generic_category().message(error));
}

std::string too_long(const SpawnRequest& request) {
  std::string text = "the command does not fit what the kernel passes to a program";
  for (const std::string& argument : *request.argv) {
    if (argument.size() < kArgumentBytesMax) continue;
    text += ": one argument has " + std::to_string(argument.size()) + " bytes, the limit is " +
            std::to_string(kArgumentBytesMax) + "; put the script into a file and run that";
    break;
  }
  return text;
}

// A command in quotes is one word.
std::string not_found(const std::string& name) {
  std::string text = name + ": command not found";
  if (name.find(' ') == std::string::npos) return text;
  return text + "; it is one word with blanks: leave the quotes away, or give it to sh -c";
}

SpawnOutcome exec_failed(const SpawnRequest& request, int error) {
  const std::string& name = request.argv->front();
  if (error == E2BIG) return {.code = 126, .message = too_long(request)};
  if (error == ENOEXEC) {
    return {.code = 126,
            .message = name + ": neither a program nor a script that starts with '#!'"};
  }
  // When the file itself is there, what is missing is the interpreter it names.
  const bool absolute = request.file.starts_with('/');
  const std::string path = absolute ? request.file : request.workdir + ("/" + request.file);
  if (error == ENOENT && ::access(path.c_str(), F_OK) == 0) {
    return {.code = 127, .message = name + ": the interpreter in its first line does not exist"};
  }
  if (error == ENOENT) return {.code = 127, .message = not_found(name)};
  return {.code = 126, .message = sentence(name, error)};
}

SpawnOutcome outcome_of_failure(const SpawnRequest& request, const ChildFailure& failure) {
  switch (static_cast<Step>(failure.step)) {
    case Step::kGroup:
      return {.code = 126, .message = sentence("cannot enter the memory group", failure.error)};
    case Step::kWorkdir:
      return {.code = 126,
              .message = sentence(std::string("workdir ") + request.workdir, failure.error)};
    case Step::kNone:
    case Step::kExec: break;
  }
  return exec_failed(request, failure.error);
}

bool is_file(const std::string& path) {
  struct stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

std::string in_folder(std::string_view folder, const std::string& name,
                      const std::string& workdir) {
  std::string path;
  if (folder.empty() || folder.front() != '/') path.append(workdir).append("/");
  if (!folder.empty()) path.append(folder).append("/");
  return path.append(name);
}

}  // namespace

SpawnOutcome spawn(const SpawnRequest& request) {
  CHECK(request.argv != nullptr, "a process needs an argument list");
  CHECK(!request.argv->empty(), "a process needs at least its own name");
  CHECK(!request.env.empty(), "an environment ends with a null pointer");
  CHECK(request.env.back() == nullptr, "an environment ends with a null pointer");
  CHECK(request.output > STDERR_FILENO, "the standard descriptors of the runner are taken");
  const std::vector<char*> argv = pointers(*request.argv);
  sigset_t no_signals;
  ::sigemptyset(&no_signals);
  const ChildPlan plan{request.file.c_str(), argv.data(), request.env.data(), &request,
                       &no_signals};
  ChildFailure failure;
  const pid_t pid = vfork_and_become(plan, failure);
  if (pid < 0) return {.message = sentence("cannot start a process", errno), .try_again = true};
  if (failure.step == static_cast<int>(Step::kNone)) return {.pid = pid};
  ::waitpid(pid, nullptr, 0);
  return outcome_of_failure(request, failure);
}

FoundProgram find_program(const std::string& name, const std::string& search_path,
                          const std::string& workdir) {
  if (name.empty()) return {{}, 127, "the command is empty"};
  if (name.find('/') != std::string::npos) return {name, 0, {}};
  std::string_view rest = search_path.empty() ? kDefaultPath : std::string_view(search_path);
  bool seen = false;
  while (true) {
    const std::size_t colon = rest.find(':');
    std::string path = in_folder(rest.substr(0, colon), name, workdir);
    if (is_file(path)) {
      if (::access(path.c_str(), X_OK) == 0) return {std::move(path), 0, {}};
      seen = true;
    }
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (seen) return {{}, 126, name + ": permission denied"};
  return {{}, 127, not_found(name)};
}

}  // namespace runnel::runner
