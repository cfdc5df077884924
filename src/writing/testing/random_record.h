#pragma once

#include "base/split_mix.h"
#include "writing/change.h"

namespace runnel::writing::testing {

// Of any kind, with anything in it.
Record random_record(SplitMix64& dice);

}  // namespace runnel::writing::testing
