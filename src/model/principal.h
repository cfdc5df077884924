#pragma once

#include <string>

#include "base/ids.h"

namespace runnel::model {

// Whom a request comes from, as its connection tells, and the project that it is about.
struct Principal {
  ProjectId project = ProjectId("default");
  std::string actor;  // As the log names who asked.
};

}  // namespace runnel::model
