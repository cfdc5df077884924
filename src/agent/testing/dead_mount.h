#pragma once

#include <string>

namespace runnel::agent::testing {

// A file system that never answers, as one on a network mount whose server is gone.
class DeadMount {
 public:
  explicit DeadMount(std::string path);
  // All that wait for the mount get an error.
  ~DeadMount();
  DeadMount(const DeadMount&) = delete;
  DeadMount& operator=(const DeadMount&) = delete;
  // Only root may mount, where there is a /dev/fuse.
  bool mounted() const { return mounted_; }
  void end();

 private:
  std::string path_;
  int device_ = -1;
  bool mounted_ = false;
};

}  // namespace runnel::agent::testing
