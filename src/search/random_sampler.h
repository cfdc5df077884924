#pragma once

#include <memory>

#include "search/sampler.h"

namespace runnel::search {

// Independent draws; what came of others has no influence.
std::unique_ptr<Sampler> make_random_sampler(const SamplerSetup& setup);

}  // namespace runnel::search
