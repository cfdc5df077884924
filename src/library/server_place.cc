#include "library/server_place.h"

#include <dlfcn.h>
#include <unistd.h>

#include "home/home.h"
#include "home/paths.h"
#include "home/server_of_volumes.h"

namespace runnel::library {
namespace {

constexpr std::string_view kFileName = "/librunnel.so";

// The file that this code was loaded from.
std::string own_file() {
  static const char kHere = 0;
  Dl_info found{};
  const bool is_found = ::dladdr(&kHere, &found) != 0;
  return is_found && found.dli_fname != nullptr ? found.dli_fname : "";
}

}  // namespace

std::optional<std::string> command_of(const std::string& library) {
  if (!library.ends_with(kFileName)) return std::nullopt;
  const std::string folder = library.substr(0, library.size() - kFileName.size());
  std::string command = folder + "/../bin/runnel";
  if (::access(command.c_str(), X_OK) != 0) return std::nullopt;
  return command;
}

std::optional<volume_server::ServerPlace> server_place() {
  const Result<std::string> library = home::absolute_path(own_file());
  std::optional<std::string> command = library.ok() ? command_of(*library) : std::nullopt;
  const Result<home::Home> home = home::find_home("");
  if (!command || !home.ok() || !home::may_have_server(*home)) return std::nullopt;
  return volume_server::ServerPlace{home->mounts_socket(),
                                    home::server_of_volumes(*home, *std::move(command))};
}

}  // namespace runnel::library
