#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "cli/volume_client.h"
#include "volume/get.h"
#include "volume/put.h"

namespace runnel::cli {

// What a transfer is called while it runs, and afterwards: "put" and "put", "get" and "got".
struct TransferWords {
  const char* running;
  const char* done;
};

// Puts with a line on a terminal, and says what came of it on stderr. `total`: bytes of the source,
// where they are known.
using Putting = std::function<Async<volume::PutResult>(volume::PutOptions)>;
Result<volume::PutResult> put_and_tell(VolumeClient& client, const Putting& putting,
                                       volume::PutOptions options, TransferWords words,
                                       std::optional<std::int64_t> total = {});

// A folder or a file of this machine, which gets `name` unless that is empty.
Result<volume::PutResult> put_local_and_tell(VolumeClient& client, volume::Volume& opened,
                                             const std::string& path, const std::string& name,
                                             volume::PutOptions options, TransferWords words);

// Gets in the same way.
Result<volume::GetProgress> get_and_tell(VolumeClient& client, volume::Volume& opened,
                                         const std::string& version, const std::string& path,
                                         volume::TreeSink& sink, volume::GetOptions options,
                                         TransferWords words);

// Whether there is a folder of this machine, or a link to one.
bool is_local_folder(const std::string& path);

json::Value got_document(const volume::GetProgress& got);

}  // namespace runnel::cli
