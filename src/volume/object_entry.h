#pragma once

#include <string>

#include "base/units.h"
#include "object/object_store.h"
#include "volume/source_tree.h"

namespace runnel::volume {

// Whether it marks the folder that is listed, as consoles leave one: an empty object of no name.
bool is_mark_of_folder(const object::Listed& object);

// kNotFound: the store of an import has no object. To copy nothing is not what anybody meant, and
// with `mirror` it would remove all that was there.
Error has_no_object(const std::string& store);

// What an object is as a file of a volume, but for its bytes: a file of the name of its key; one of
// no bytes whose key ends with '/' is a folder. Modes are 0644 and 0755, and the time is the second
// of its put, or `now` where the store does not tell, and nanoseconds by its stamp. `store` is
// named by errors: kInvalid for a key that is no path.
Result<ReadEntry> entry_of_object(const object::Listed& object, const std::string& store, Time now);

}  // namespace runnel::volume
