#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace runnel::model {

inline constexpr std::size_t kNameMax = 100;

// Letters, digits, `_`, `-`, `.`, beginning with a letter or digit, at most kNameMax bytes: jobs,
// nodes, devices.
bool is_name(std::string_view text);
// The same without dots, since `{{best.STEP.name}}` splits at them.
bool is_step_name(std::string_view text);
// Letters, digits and `_`, not beginning with a digit: variables and parameters.
bool is_identifier(std::string_view text);

// The same, at most kVolumeNameMax bytes and without capitals: volumes.
inline constexpr std::size_t kVolumeNameMax = 63;
bool is_volume_name(std::string_view text);

// Whether "env:NAME" or "file:/path" is well formed, as the source of a secret.
bool is_secret_source(std::string_view source);

// Why this cannot be the name of a variable that a user sets; nothing when it can.
std::optional<Error> variable_fault(std::string_view name);

// The fault of a text that is_name() refuses: `rule`, as "cannot be a name", unless the fault is
// its length.
std::string name_fault(std::string_view text, const std::string& rule);

// The nearest text that is_name() allows, for a remedy; "" when nothing of it can stay.
std::string as_name(std::string_view text);

}  // namespace runnel::model
