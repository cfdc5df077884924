#include "sim/child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "base/check.h"

namespace runnel::sim {
namespace {

constexpr int kCheckBroke = 3;

int reporting = -1;  // Where a child that breaks a CHECK writes its text.

void write_all(int pipe, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(pipe, text.data(), text.size());
    if (wrote <= 0) _exit(1);
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

[[noreturn]] void report_check(const char* text) {
  write_all(reporting, text);
  _exit(kCheckBroke);
}

std::string read_all(int pipe) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(pipe, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

ChildEnd end_of(int status, std::string text) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {std::move(text), ""};
  if (WIFEXITED(status) && WEXITSTATUS(status) == kCheckBroke) return {"", std::move(text)};
  if (WIFSIGNALED(status)) return {"", "died of signal " + std::to_string(WTERMSIG(status))};
  return {"", "ended with exit code " + std::to_string(WEXITSTATUS(status))};
}

}  // namespace

Child::Child(const std::function<std::string()>& work) {
  int ends[2];
  CHECK(pipe(ends) == 0, "no pipe to a process of its own");
  pipe_ = async::UniqueFd(ends[0]);
  const async::UniqueFd to(ends[1]);
  // tidy: allow(process) goes on with the simulator's own state: there is no program to start
  process_ = fork();
  CHECK(process_ >= 0, "no process of its own");
  if (process_ > 0) return;
  reporting = to.get();
  set_check_handler(report_check);
  write_all(reporting, work());
  _exit(0);
}

ChildEnd Child::end() {
  CHECK(process_ > 0, "a child's end is asked for twice");
  std::string text = read_all(pipe_.get());
  int status = 0;
  waitpid(std::exchange(process_, 0), &status, 0);
  return end_of(status, std::move(text));
}

}  // namespace runnel::sim
