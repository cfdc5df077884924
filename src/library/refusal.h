#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"

namespace runnel::library {

// Why a path leads to nothing that can be used as it was asked for.
enum class Refusal : std::uint8_t {
  kNoSuchPath,
  kNotAFolder,
  kIsAFolder,
  kTooManyLinks,
  kLeadsOut,  // Of the volume.
  kNameTooLong,
};

// The errno of it, positive.
int number_of(Refusal refusal);
// `where`: the volume and its version.
std::string text_of(Refusal refusal, const std::string& path, const std::string& where);

// The errno of an error: of opening a volume, or of asking one that was open.
int number_of_opening(const Error& error);
int number_of_asking(const Error& error);

}  // namespace runnel::library
