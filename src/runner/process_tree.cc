#include "runner/process_tree.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <memory>

#include "output/open_file.h"

namespace runnel::runner {
namespace {

constexpr std::size_t kDescendantsMax = 100'000;

template <typename Int>
bool parse_number(std::string_view text, Int& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

std::string proc_path(pid_t pid, std::string_view name) {
  std::string path = "/proc/";
  path.append(std::to_string(pid)).append("/").append(name);
  return path;
}

// The fields of /proc/PID/stat from the third on. The second, the name of the program, stands in
// parentheses and may hold anything, parentheses included.
std::string_view after_name(std::string_view stat) {
  const std::size_t name_end = stat.rfind(')');
  return name_end == std::string_view::npos ? std::string_view() : stat.substr(name_end + 1);
}

void append_pids(std::string_view text, std::vector<pid_t>& pids) {
  for (const std::string_view word : words_of(text)) {
    pid_t pid = 0;
    if (parse_number(word, pid)) pids.push_back(pid);
  }
}

std::vector<pid_t> numeric_entries(const std::string& folder) {
  std::vector<pid_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), ::closedir);
  if (!dir) return numbers;
  while (const dirent* entry = ::readdir(dir.get())) {
    pid_t pid = 0;
    if (parse_number(std::string_view(entry->d_name), pid)) numbers.push_back(pid);
  }
  return numbers;
}

std::vector<pid_t> children_by_parent(pid_t parent) {
  std::vector<pid_t> children;
  for (const pid_t pid : all_processes()) {
    ProcessStat stat;
    if (read_stat(pid, stat) && stat.parent == parent) children.push_back(pid);
  }
  return children;
}

std::string read_all(int file, std::size_t bytes_max) {
  std::string text;
  char buffer[16'384];
  while (text.size() < bytes_max) {
    const ssize_t got = ::read(file, buffer, sizeof buffer);
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

// The line "Name:   123 kB" of a file of /proc.
Bytes kilobytes_field(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return {};
  const auto words = words_of(text.substr(at + name.size(), 64));
  std::int64_t value = 0;
  if (words.empty() || !parse_number(words.front(), value)) return {};
  return Bytes::kibi(value);
}

}  // namespace

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(" \t\r\n");
    if (end != 0) words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return words;
}

std::string read_small_file(const std::string& path, std::size_t bytes_max) {
  const async::UniqueFd file = output::open_to_read(path);
  return file.valid() ? read_all(file.get(), bytes_max) : std::string();
}

ChildList::ChildList() {
  const std::string path = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
  file_ = output::open_to_read(path);
}

std::vector<pid_t> ChildList::read() const {
  if (!file_.valid()) return children_by_parent(::getpid());
  std::vector<pid_t> pids;
  char buffer[4096];
  const ssize_t got = ::pread(file_.get(), buffer, sizeof buffer, 0);
  // All of a short list comes in one read.
  if (got >= 0 && static_cast<std::size_t>(got) < sizeof buffer - 16) {
    append_pids(std::string_view(buffer, static_cast<std::size_t>(got)), pids);
    return pids;
  }
  if (::lseek(file_.get(), 0, SEEK_SET) == 0) append_pids(read_all(file_.get(), 1 << 20), pids);
  return pids;
}

std::vector<pid_t> children_of(pid_t pid) {
  // Each thread has its own list.
  std::vector<pid_t> children;
  const std::string tasks = proc_path(pid, "task");
  bool listed = false;
  for (const pid_t thread : numeric_entries(tasks)) {
    const std::string path = tasks + "/" + std::to_string(thread) + "/children";
    if (!listed && ::access(path.c_str(), R_OK) != 0) return children_by_parent(pid);
    listed = true;
    append_pids(read_small_file(path), children);
  }
  return children;
}

std::vector<pid_t> descendants_of(pid_t pid) {
  std::vector<pid_t> found = children_of(pid);
  for (std::size_t i = 0; i < found.size() && found.size() < kDescendantsMax; ++i) {
    const std::vector<pid_t> below = children_of(found[i]);
    found.insert(found.end(), below.begin(), below.end());
  }
  return found;
}

std::vector<pid_t> all_processes() { return numeric_entries("/proc"); }

namespace {

// Whether a process that just showed no environment may have one all the same. Not so one that is
// gone, a zombie, a thread of the kernel, one that was started with none. In the middle of an exec
// the kernel hides everything, as it does for good of a program that nobody may look into.
bool may_have_environment(pid_t pid) {
  char target[1];
  if (::readlink(proc_path(pid, "exe").c_str(), target, sizeof target) < 0 && errno != EACCES) {
    return false;
  }
  const std::string text = read_small_file(proc_path(pid, "stat"), 4096);
  const auto words = words_of(after_name(text));
  constexpr std::size_t kCodeStart = 23;
  constexpr std::size_t kEnvironmentStart = 47;
  if (words.size() <= kEnvironmentStart + 1 || words[0] == "Z") return false;
  // 0 until the new program's image is complete, 1 when we may not know.
  if (words[kCodeStart] == "0" || words[kCodeStart] == "1") return true;
  return words[kEnvironmentStart] != words[kEnvironmentStart + 1];
}

}  // namespace

namespace {

constexpr std::size_t kEnvironmentMax = 4 << 20;

std::string value_in(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::size_t end = environment.find('\0');
    const std::string_view entry = environment.substr(0, end);
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return std::string(entry.substr(name.size() + 1));
    }
    if (end == std::string_view::npos) break;
    environment.remove_prefix(end + 1);
  }
  return "";
}

}  // namespace

std::optional<std::string> environment_value(pid_t pid, std::string_view name) {
  const std::string text = read_small_file(proc_path(pid, "environ"), kEnvironmentMax);
  if (text.empty() && may_have_environment(pid)) return std::nullopt;
  return value_in(text, name);
}

std::vector<std::string> environment_values(pid_t pid, const std::vector<std::string_view>& names) {
  const std::string text = read_small_file(proc_path(pid, "environ"), kEnvironmentMax);
  std::vector<std::string> values;
  values.reserve(names.size());
  for (const std::string_view name : names) values.push_back(value_in(text, name));
  return values;
}

std::optional<uid_t> owner_of(pid_t pid) {
  struct stat info{};
  if (::stat(("/proc/" + std::to_string(pid)).c_str(), &info) != 0) return std::nullopt;
  return info.st_uid;
}

namespace {

Duration from_ticks(std::int64_t ticks) {
  return Duration::millis(ticks * 1'000 / ::sysconf(_SC_CLK_TCK));
}

}  // namespace

bool read_stat(pid_t pid, ProcessStat& stat) {
  const std::string text = read_small_file(proc_path(pid, "stat"), 4096);
  const auto words = words_of(after_name(text));
  constexpr std::size_t kStartTime = 19;
  if (words.size() <= kStartTime) return false;
  std::int64_t ticks = 0;
  stat.state = words[0].front();
  if (!parse_number(words[1], stat.parent) || !parse_number(words[2], stat.group)) return false;
  if (!parse_number(words[kStartTime], ticks)) return false;
  stat.started = from_ticks(ticks);
  std::int64_t user = 0;
  std::int64_t system = 0;
  if (!parse_number(words[11], user) || !parse_number(words[12], system)) return false;
  stat.cpu = from_ticks(user + system);
  return true;
}

Bytes resident_memory(pid_t pid) {
  const std::string text = read_small_file(proc_path(pid, "statm"), 4096);
  const auto words = words_of(text);
  std::int64_t pages = 0;
  if (words.size() < 2 || !parse_number(words[1], pages)) return {};
  return Bytes::count(pages * ::sysconf(_SC_PAGESIZE));
}

Bytes proportional_memory(pid_t pid) {
  const std::string text = read_small_file(proc_path(pid, "smaps_rollup"), 8192);
  const Bytes share = kilobytes_field(text, "\nPss:");
  return share.is_zero() ? resident_memory(pid) : share;
}

std::string boot_id() {
  std::string id = read_small_file("/proc/sys/kernel/random/boot_id", 64);
  while (!id.empty() && id.back() == '\n') id.pop_back();
  return id;
}

}  // namespace runnel::runner
