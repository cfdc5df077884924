#include "volume_sim/expected.h"

namespace runnel::volume_sim {

bool is_expected(const Error& error) {
  switch (error.code) {
    case Errc::kUnavailable:
    case Errc::kTimeout:
    case Errc::kCancelled:
    case Errc::kFull:
    case Errc::kDenied:
    case Errc::kConflict: return true;
    // It was deleted, is being deleted, or is a clone that came to nothing.
    case Errc::kNotFound: return error.field == "volume";
    default: return false;
  }
}

}  // namespace runnel::volume_sim
