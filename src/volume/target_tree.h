#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "async/unique_fd.h"
#include "base/result.h"
#include "volume/folder_root.h"
#include "volume/node.h"

namespace runnel::volume {

// Writes files, folders and links of a version below a folder of this machine, with their
// permission bits and times. No link is followed out of it, whoever puts one there, and when: what
// stands in the way is an error. Blocks. Threads: one at a time for each root.

// Whether a name is one of those that files and links have here until they are whole. What was
// killed meanwhile leaves them.
bool is_unfinished_name(std::string_view name);
// Open to its owner until set_attributes(): files are made in it whatever its own bits are. False:
// it was there, and is as it was.
Result<bool> make_folder(FolderRoot& root, const std::string& below);
// Whole, or as it was before. Two that are made at once never mix, and nobody else's file is
// touched: what is not whole has no name, or where the file system cannot do that one that nobody
// has.
Result<void> make_file(FolderRoot& root, const std::string& below, const Node& node,
                       std::string_view bytes);

// The same of a file whose bytes come in parts. One that is not finished leaves nothing. Long runs
// of zeros are holes.
class TargetFile {
 public:
  static Result<TargetFile> begin(FolderRoot& root, const std::string& below);
  TargetFile(TargetFile&&) noexcept = default;
  TargetFile& operator=(TargetFile&&) noexcept = default;
  ~TargetFile();

  Result<void> append(std::string_view bytes);
  Result<void> finish(const Node& node);

 private:
  TargetFile(std::string path, async::UniqueFd folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}
  std::string name() const { return FolderRoot::name_of(path_); }
  Result<void> write(std::string_view bytes);
  Result<void> skip(std::size_t size);
  Result<void> give_name();

  std::string path_;  // As errors tell it.
  async::UniqueFd folder_;
  async::UniqueFd file_;
  std::string part_;  // What it is called until it is whole; empty: it has no name.
  bool ends_in_hole_ = false;
};

// To write to a device, a pipe or a socket that is there; waits for who reads a pipe.
Result<async::UniqueFd> open_device(const std::string& path);
Result<void> make_link(FolderRoot& root, const std::string& below, const Node& node);
// Whether a file has the size, the time and the permission bits of the node, or a link the target:
// then nothing is to be done for it.
bool is_as_node(FolderRoot& root, const std::string& below, const Node& node);
// The permission bits and times of a folder, after all that is made in it.
Result<void> set_attributes(const FolderRoot& root, const std::string& below, const Node& node);

}  // namespace runnel::volume
