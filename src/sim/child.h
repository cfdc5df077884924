#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "async/unique_fd.h"

namespace runnel::sim {

struct ChildEnd {
  std::string text;  // What the work returned.
  std::string died;  // How it ended instead: the CHECK that broke, or a signal.
};

// Some work in a process of its own, so that one that ends there costs nobody else anything.
// Threads: the caller has no others.
class Child {
 public:
  explicit Child(const std::function<std::string()>& work);
  // Waits for it; once.
  ChildEnd end();

 private:
  async::UniqueFd pipe_;
  pid_t process_ = 0;
};

}  // namespace runnel::sim
