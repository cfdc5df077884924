#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "env/random.h"
#include "model/spec.h"

namespace runnel::cli {

// `run --chaos`: kills one process of every step that may be tried again, once, some seconds after
// it began, as the kernel would that has no memory left. A file that survives that is ready for
// machines that fail.
class Chaos {
 public:
  Chaos(const model::JobSpec& spec, std::string job, env::Random& random);

  // Looks at what runs now, and strikes where it is time. What it did, for the user; "" for
  // nothing.
  std::string look(Duration now);

  // At the end: which steps were not put to the test, for the user; "" when all were.
  std::string spared() const;

 private:
  std::string job_;
  env::Random& random_;
  // Steps that were not struck yet, with the moment to strike once something of them was seen.
  std::map<std::string, std::optional<Duration>> steps_;
  bool any_ = false;  // There was a step to strike.
};

}  // namespace runnel::cli
