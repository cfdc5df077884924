#include "env/folder_users.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <climits>
#include <optional>
#include <sstream>

#include "env/files.h"
#include "env/process.h"

namespace runnel::env {
namespace {

bool is_in(const std::string& folder, const std::string& path) {
  return path == folder || path.starts_with(folder + "/");
}

// Where a link of /proc leads; it is not followed.
std::string link_target(const std::string& link) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlink(link.c_str(), target.data(), target.size());
  return size < 0 ? std::string() : std::string(target.data(), static_cast<std::size_t>(size));
}

// What is mapped into memory: the last word of a line, which begins with '/'.
std::optional<std::string> mapped_in(const std::string& folder, const std::string& process) {
  std::istringstream maps(read_file(process + "/maps").value_or(""));
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find('/');
    if (at != std::string::npos && is_in(folder, line.substr(at))) return line.substr(at);
  }
  return std::nullopt;
}

std::optional<std::string> used_in(const std::string& folder, const std::string& process) {
  std::vector<std::string> links{process + "/cwd", process + "/root"};
  const std::string open_files = process + "/fd";
  for (const std::string& number :
       list_directory(open_files).value_or(std::vector<std::string>())) {
    links.push_back(open_files + "/" + number);
  }
  for (const std::string& link : links) {
    std::string target = link_target(link);
    if (is_in(folder, target)) return target;
  }
  return mapped_in(folder, process);
}

}  // namespace

std::vector<FolderUser> folder_users(const std::string& folder) {
  std::vector<FolderUser> users;
  for (const std::string& name : list_directory("/proc").value_or(std::vector<std::string>())) {
    std::int64_t pid = 0;
    const auto [end, failure] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failure != std::errc() || end != name.data() + name.size()) continue;
    if (std::optional<std::string> path = used_in(folder, "/proc/" + name)) {
      users.push_back({pid, process_name(pid), *std::move(path)});
    }
  }
  return users;
}

}  // namespace runnel::env
