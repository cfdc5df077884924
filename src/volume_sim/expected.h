#pragma once

#include <string>

#include "base/result.h"
#include "volume_sim/oracle.h"

namespace runnel::volume_sim {

// Whether a bad network, or a gc that took a process for dead, may cause it: no fault of ours.
bool is_expected(const Error& error);

// Any other error is told to the oracle.
template <typename T>
void tell(Oracle& oracle, const char* what, const Result<T>& result) {
  if (result.ok() || is_expected(result.error())) return;
  oracle.found_wrong(std::string("a ") + what + " ends with " + result.error().to_string());
}

}  // namespace runnel::volume_sim
