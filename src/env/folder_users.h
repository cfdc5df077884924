#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace runnel::env {

// A process that has something in a folder, as its current folder or open.
struct FolderUser {
  std::int64_t pid = 0;
  std::string name;  // As ps shows it.
  std::string path;  // What it has, or the first of that.
};

// Who uses a folder or what is below it, by absolute path without links. Of processes of other
// users only root sees this. Reads /proc alone, and nothing in the folder, which may be dead.
std::vector<FolderUser> folder_users(const std::string& folder);

}  // namespace runnel::env
