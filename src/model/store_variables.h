#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/spec.h"

namespace runnel::model {

// The variables of a shell by which a bucket is reached. The mount of a job's volume has them, as
// the shell had that submitted it; tasks do not.
std::span<const std::string_view> store_variables();

// Whether "env:NAME" is one of them.
bool is_store_source(std::string_view source);

// Whether one of the volumes, or a file of one, is in a bucket.
bool reads_a_bucket(const std::vector<VolumeUse>& volumes);
// Whether a step of the job reads such a volume.
bool reads_a_bucket(const JobSpec& spec);

}  // namespace runnel::model
