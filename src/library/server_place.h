#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "volume_server/pack_client.h"

namespace runnel::library {

// The command `runnel` of which a library is: `bin/runnel` beside the `lib/` of librunnel.so. None
// of another file, or where there is no such command.
std::optional<std::string> command_of(const std::string& library);

// The file of which a process has mapped an address, by the text of /proc/PID/maps, which has the
// path that it was opened by, made whole. Empty: of none.
std::string mapped_file(const std::string& maps, std::uintptr_t address);

// Who serves the volumes of the user's home. None where it cannot be started: this library was not
// installed with its command, the home is not this machine's alone, or this process has limits that
// others are not to live with.
std::optional<volume_server::ServerPlace> server_place();

}  // namespace runnel::library
