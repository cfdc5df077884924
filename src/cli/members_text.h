#pragma once

#include <string>

#include "json/value.h"

namespace runnel::cli {

// "lr=0.01 width=64": an object's members, numbers as short_number() shows them; empty for none.
std::string members_text(const json::Value* object);

}  // namespace runnel::cli
