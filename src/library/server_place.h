#pragma once

#include <optional>
#include <string>

#include "volume_server/pack_client.h"

namespace runnel::library {

// The command `runnel` of which a library is: `bin/runnel` beside the `lib/` of librunnel.so. None
// of another file, or where there is no such command.
std::optional<std::string> command_of(const std::string& library);

// Who serves the volumes of the user's home. None where it cannot be started: this library was not
// installed with its command, or the home is not this machine's alone.
std::optional<volume_server::ServerPlace> server_place();

}  // namespace runnel::library
