#pragma once

#include <string>

#include "volume/session.h"

namespace runnel::volume {

// Processes as their sessions name them: which one this is, and which are no more.
//
// Threads: any.
class Processes {
 public:
  virtual ~Processes() = default;
  // This process, for a session of it. `kind`: see SessionRecord.
  virtual SessionRecord this_one(std::string kind) const = 0;
  // Whether the session's process is known to be no more.
  virtual bool has_ended(const SessionRecord& record) const = 0;
};

// Those that the kernel knows: session_of_this_process() and has_ended().
const Processes& real_processes();

}  // namespace runnel::volume
