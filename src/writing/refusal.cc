#include "writing/refusal.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

namespace runnel::writing {
namespace {

constexpr std::string_view kField = "errno";

// By the numbers of Refusal.
constexpr std::array<std::string_view, 13> kNames{"",
                                                  "ENOENT",
                                                  "EEXIST",
                                                  "ENOTDIR",
                                                  "EISDIR",
                                                  "ENOTEMPTY",
                                                  "EINVAL (below itself)",
                                                  "ENAMETOOLONG",
                                                  "EINVAL (a name)",
                                                  "EFBIG",
                                                  "EMLINK",
                                                  "EPERM",
                                                  "EROFS"};

}  // namespace

Error refused(Refusal why, std::string message) {
  Error error(Errc::kPrecondition, std::move(message));
  error.field = kField;
  error.value = kNames.at(static_cast<std::size_t>(why));
  return error;
}

Refusal refusal_of(const Error& error) {
  if (error.field != kField) return Refusal::kNone;
  const auto* const found = std::find(kNames.begin(), kNames.end(), error.value);
  return found == kNames.end() ? Refusal::kNone : static_cast<Refusal>(found - kNames.begin());
}

int errno_of(Refusal why) {
  switch (why) {
    case Refusal::kNone: break;
    case Refusal::kNoEntry: return ENOENT;
    case Refusal::kExists: return EEXIST;
    case Refusal::kNotFolder: return ENOTDIR;
    case Refusal::kIsFolder: return EISDIR;
    case Refusal::kNotEmpty: return ENOTEMPTY;
    case Refusal::kIntoItself:
    case Refusal::kBadName: return EINVAL;
    case Refusal::kNameTooLong: return ENAMETOOLONG;
    case Refusal::kTooLong: return EFBIG;
    case Refusal::kTooManyNames: return EMLINK;
    case Refusal::kNoSecondName: return EPERM;
    case Refusal::kReadOnly: return EROFS;
  }
  return EIO;
}

}  // namespace runnel::writing
