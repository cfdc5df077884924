#include "library/server_place.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "env/files.h"
#include "home/home.h"
#include "home/server_of_volumes.h"

namespace runnel::library {
namespace {

constexpr std::string_view kFileName = "/librunnel.so";

// The file that this code was loaded from, wherever this process stands by now.
std::string own_file() {
  static const char kHere = 0;
  const Result<std::string> maps = env::read_file("/proc/self/maps");
  return maps.ok() ? mapped_file(*maps, reinterpret_cast<std::uintptr_t>(&kHere)) : "";
}

// Limits of a process that it cannot lift, and which a server that it starts would have for all.
bool is_limited() {
  constexpr rlim_t kFilesLeast = 1'024;
  for (const auto resource : {RLIMIT_AS, RLIMIT_CPU, RLIMIT_DATA, RLIMIT_FSIZE}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) != 0 || limit.rlim_max != RLIM_INFINITY) return true;
  }
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_max < kFilesLeast;
}

}  // namespace

std::optional<std::string> command_of(const std::string& library) {
  if (!library.ends_with(kFileName)) return std::nullopt;
  const std::string folder = library.substr(0, library.size() - kFileName.size());
  std::string command = folder + "/../bin/runnel";
  if (::access(command.c_str(), X_OK) != 0) return std::nullopt;
  return command;
}

std::string mapped_file(const std::string& maps, std::uintptr_t address) {
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    char* dash = nullptr;
    const std::uintptr_t begin = std::strtoull(line.c_str(), &dash, 16);
    const bool is_range = *dash == '-';
    const std::uintptr_t end = is_range ? std::strtoull(dash + 1, nullptr, 16) : 0;
    const std::size_t path = line.find('/');
    const bool is_there = begin <= address && address < end && path != std::string::npos;
    if (is_there) return line.substr(path);
  }
  return "";
}

std::optional<volume_server::ServerPlace> server_place() {
  std::optional<std::string> command = command_of(own_file());
  const Result<home::Home> home = home::find_home("");
  const bool may_start = command && home.ok() && home::may_have_server(*home) && !is_limited();
  if (!may_start) return std::nullopt;
  return volume_server::ServerPlace{home->mounts_socket(),
                                    home::server_of_volumes(*home, *std::move(command))};
}

}  // namespace runnel::library
