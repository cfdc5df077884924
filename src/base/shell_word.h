#pragma once

#include <string>
#include <string_view>

namespace runnel {

// As a POSIX shell reads it as one word: quoted where it must be.
std::string shell_word(std::string_view text);

}  // namespace runnel
