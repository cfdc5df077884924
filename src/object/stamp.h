#pragma once

#include <string_view>

namespace runnel::object {

// Whether a stamp may stand in the condition of a request: visible ASCII without '"', as an ETag of
// RFC 9110 has it. Stamps come from lists of stores and from volumes of other people.
bool is_stamp(std::string_view text);

}  // namespace runnel::object
