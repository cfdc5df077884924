#pragma once

#include <sys/stat.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/unique_fd.h"
#include "base/result.h"

namespace runnel::volume {

// A folder of this machine, and what lies below it, of which others may change folders and links at
// any time: no link on the way is followed, so that nothing else is read, written or given modes.
//
// Contract: paths below are parts with single '/' between them; "" is the folder itself. What was
//           replaced by a link, or leads out, is kConflict.
// Threads:  one at a time.
class FolderRoot {
 public:
  // The path is gone to as it is written; no link of it is followed, either, where it `is_real`.
  static Result<FolderRoot> open(const std::string& path, bool is_real);
  // The folder that a path is in, and its name there; of "/", "." and ".." itself, and "".
  static std::pair<std::string, std::string> split(const std::string& path);

  const std::string& path() const { return path_; }
  std::string place(const std::string& below) const;

  // Itself, as openat() does it: the last part is no link, either.
  Result<async::UniqueFd> open_below(const std::string& below, int flags) const;
  // The folder that it is in; good until the next call. kConflict for the folder itself.
  Result<int> folder_of(const std::string& below);
  static std::string name_of(const std::string& below);

  // Of a link its own.
  Result<struct stat> look(const std::string& below);
  Result<std::string> target_of(const std::string& below);
  Result<std::vector<std::string>> names(const std::string& below) const;

 private:
  FolderRoot(std::string path, async::UniqueFd root)
      : path_(std::move(path)), root_(std::move(root)) {}

  std::string path_;
  async::UniqueFd root_;
  std::string last_;             // The folder that was asked for last,
  async::UniqueFd last_folder_;  // open; itself: none.
};

}  // namespace runnel::volume
