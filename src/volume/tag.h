#pragma once

#include <string>

#include "volume/volume.h"

namespace runnel::volume {

// Names of versions, in the head: a version that has one stays, however many follow it.
//
// Errors: kInvalid for a name that is none: 1 to 63 of a-z A-Z 0-9 - _ ., with a letter among them
//         that no id has, and not "latest".

// The id of the version that has the tag now. kNotFound as Volume::snapshot(); kConflict when
// another version has the tag, unless it may be moved; kFull at Head::kTagsMax tags.
Async<std::string> set_tag(Volume& volume, std::string version, std::string tag, bool move);
// Gives the newest version the tag, and says which that was. kConflict when any version has the
// tag; kNotFound when there is no version.
Async<std::string> take_snapshot(Volume& volume, std::string tag);
// kNotFound when there is none.
Async<void> remove_tag(Volume& volume, std::string tag);

}  // namespace runnel::volume
