#pragma once

#include <optional>
#include <string_view>

#include "extract/sample.h"

namespace runnel::extract {

// The scalars of one TensorBoard event, a protobuf message: a sample without values when it holds
// none, nothing when the bytes are no event. `prefix` stands before each tag.
std::optional<MetricSample> read_event(std::string_view bytes, std::string_view prefix);

}  // namespace runnel::extract
