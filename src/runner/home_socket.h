#pragma once

#include <sys/types.h>

#include <string>

#include "async/unique_fd.h"
#include "base/result.h"

namespace runnel::runner {

// The socket by which agents find a home's runner, for as long as the runner lives.
//
// Contract: open() listens at runner_socket(home). look() tells whether that path, in the folder
//           that was the home at open(), still leads here; when it does not, listen_again() makes
//           it do so. What stands in its place is renamed to "sock.away", but a folder is left and
//           is the error. A home that was moved away, or is hidden by a mount, is left alone.
// Threads:  the runner's only.
// Why:      whatever removes the socket would otherwise keep the home from its runner for ever.
class HomeSocket {
 public:
  static Result<HomeSocket> open(std::string home);

  int descriptor() const { return listener_.get(); }
  // One look through the open folder, which waits for no mount over the home.
  bool leads_here() const;
  // Whether the home's path still leads to the folder that was the home.
  bool home_in_place() const;
  // Whether the folder that was the home has been removed.
  bool home_is_gone() const;
  // The present path of the folder that was the home at open(); "" when nobody can tell.
  std::string home_now() const;
  Result<void> listen_again();
  // Removes the file, if it is ours.
  void close();

 private:
  explicit HomeSocket(std::string home) : home_(std::move(home)) {}

  std::string home_;
  async::UniqueFd folder_;
  async::UniqueFd listener_;
  dev_t device_ = 0;  // The device and the inode of the socket's file.
  ino_t inode_ = 0;
};

}  // namespace runnel::runner
