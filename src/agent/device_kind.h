#pragma once

#include <string>
#include <string_view>

namespace runnel::agent {

// Whether a device of this name is of the kind: some words of the name, one after another, are the
// kind's, without regard to case, blanks and dashes. "RTX 4090" and "rtx-4090" are one kind, and an
// "NVIDIA L40S" is no L4.
bool is_of_kind(std::string_view name, std::string_view kind);

// The kind that a driver's name for a device says: "NVIDIA A100-SXM4-80GB" is an A100, "NVIDIA
// GeForce RTX 4090" an RTX4090. Without the maker, the line of products, and what follows the
// model: how it is mounted and how much memory it has. Empty where nothing is left.
std::string kind_of(std::string_view name);

}  // namespace runnel::agent
