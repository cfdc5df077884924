#pragma once

#include <string>

#include "object/object_store.h"

namespace runnel::object {

// Whether the store keeps the promises that a volume rests on: a put under kAbsent of a key that is
// there, and one under another ETag, are refused, and the right ETag is taken. `key` is new and is
// removed again. kUnsupported, with what the store did, otherwise.
Async<void> probe_conditions(ObjectStore& store, std::string key, async::StopToken stop);

}  // namespace runnel::object
