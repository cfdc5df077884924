#include "env/read_only_tree.h"

#include <filesystem>
#include <system_error>

namespace runnel::env {
namespace {

namespace fs = std::filesystem;

constexpr fs::perms kWriting =
    fs::perms::owner_write | fs::perms::group_write | fs::perms::others_write;

Error failed(const fs::path& path, const std::error_code& code) {
  return errno_error("make " + path.string() + " read-only", code.value());
}

}  // namespace

Result<void> make_tree_read_only(const std::string& folder) {
  std::error_code code;
  fs::permissions(folder, kWriting, fs::perm_options::remove, code);
  if (code) return failed(folder, code);
  fs::recursive_directory_iterator entry(folder, code);
  for (; !code && entry != fs::recursive_directory_iterator(); entry.increment(code)) {
    if (entry->is_symlink(code)) continue;
    fs::permissions(entry->path(), kWriting, fs::perm_options::remove, code);
    if (code) return failed(entry->path(), code);
  }
  if (code) return failed(folder, code);
  return {};
}

}  // namespace runnel::env
