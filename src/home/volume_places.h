#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "home/home.h"
#include "object/store_url.h"

namespace runnel::home {

// Which store each volume of a home is in: those that were created or named with --store. Others
// are in the home's own folder of volumes, which moves with the home.
//
// Threads: any; blocks.

using VolumePlaces = std::map<std::string, object::StoreUrl>;

// kCorrupt, with the remedy, for a file that is damaged.
Result<VolumePlaces> volume_places(const Home& home);

// The store of a volume: `given` (--store) where it is, else as it is remembered.
Result<object::StoreUrl> place_of_volume(const Home& home, const std::string& name,
                                         const std::optional<std::string>& given);

Result<void> remember_volume(const Home& home, const std::string& name,
                             const object::StoreUrl& place);

// A volume of the name in another store stays, and one that is there again: `is_gone` is asked
// while nobody else remembers or forgets any.
Result<void> forget_volume(const Home& home, const std::string& name, const object::StoreUrl& place,
                           const std::function<bool()>& is_gone);

}  // namespace runnel::home
