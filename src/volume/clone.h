#pragma once

#include <string>

#include "volume/volume.h"

namespace runnel::volume {

// Makes a volume beside another one, in the same store, whose first version is one of the other's:
// it shares the other's objects, of which none is copied, and goes its own way from there.
// docs/design/volume_clone.md has the protocol.
//
// Contract: costs a few requests, however much the version has. Killed at any moment it leaves a
//           clone that is whole, or nothing but what gc takes back. kConflict when there is a
//           volume of the name, kNotFound for "latest" of an empty volume, or when gc, or another
//           volume of the name, went by: then it may be tried again. kFull when a volume was cloned
//           Head::kClonesMax times.
Async<Volume> clone_volume(VolumeContext context, Volume& origin, std::string version,
                           std::string name);

// Says in the origin's head that the clone of this promise is made, so that gc keeps what it reads.
// kNotFound when there is no such promise any more: then the clone has come to nothing, for good.
Async<void> keep_promise(HeadRegister& origin, std::string origin_name, std::string clone,
                         std::string nonce);

// The clone is no more: its origin need not keep anything for it. gc of the origin does the same.
Async<void> release_promise(object::ObjectStore& store, env::Random& random, Head clone,
                            async::StopToken stop);

// Whether the origin keeps what a clone of this head reads.
Async<bool> is_promised(object::ObjectStore& store, env::Random& random, Head clone,
                        async::StopToken stop);

// Whether a head is one of a clone whose making came to nothing: nobody can ever open it.
Async<bool> came_to_nothing(object::ObjectStore& store, env::Random& random, Head clone,
                            async::StopToken stop);

// Whether a promise is to be kept: its clone is there, or nobody can tell.
Async<bool> has_clone(object::ObjectStore& store, env::Random& random, std::string origin,
                      std::string clone, std::string nonce, async::StopToken stop);

}  // namespace runnel::volume
