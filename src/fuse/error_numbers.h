#pragma once

#include "base/error.h"

namespace runnel::fuse {

// The errno that a program gets for an error, by its Refusal where it has one.
int errno_of(const Error& error);
// Whether programs get it for what they ask, as from any disk, so that nobody is to be told more.
bool is_ordinary(const Error& error);

}  // namespace runnel::fuse
