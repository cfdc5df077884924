#include "env/process_list.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "env/files.h"

namespace runnel::env {
namespace {

bool holds(std::string_view environment, std::string_view variable) {
  for (std::size_t at = environment.find(variable); at != std::string_view::npos;
       at = environment.find(variable, at + 1)) {
    const std::size_t end = at + variable.size();
    const bool begins = at == 0 || environment[at - 1] == '\0';
    if (begins && (end == environment.size() || environment[end] == '\0')) return true;
  }
  return false;
}

// 0 when it has ended.
std::int64_t parent_process(std::int64_t pid) {
  const Result<std::string> stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  if (!stat.ok()) return 0;
  // "pid (name) state parent ...": the name may hold anything.
  const std::size_t name_end = stat->rfind(')');
  if (name_end == std::string::npos || stat->size() < name_end + 5) return 0;
  std::int64_t parent = 0;
  std::from_chars(stat->data() + name_end + 4, stat->data() + stat->size(), parent);
  return parent;
}

}  // namespace

std::vector<std::int64_t> processes_with(const std::vector<std::string>& variables) {
  std::vector<std::int64_t> found;
  const Result<std::vector<std::string>> names = list_directory("/proc");
  if (!names.ok()) return found;
  for (const std::string& name : *names) {
    std::int64_t pid = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failure != std::errc() || end != name.data() + name.size()) continue;
    const Result<std::string> environment = read_file("/proc/" + name + "/environ");
    if (!environment.ok()) continue;
    const bool all = std::all_of(variables.begin(), variables.end(), [&](const std::string& each) {
      return holds(*environment, each);
    });
    if (all) found.push_back(pid);
  }
  return found;
}

std::vector<std::int64_t> first_of(const std::vector<std::int64_t>& pids) {
  std::vector<std::int64_t> first;
  for (const std::int64_t pid : pids) {
    const std::int64_t parent = parent_process(pid);
    if (parent > 0 && std::find(pids.begin(), pids.end(), parent) == pids.end()) {
      first.push_back(pid);
    }
  }
  return first;
}

}  // namespace runnel::env
