#include "env/tree_bytes.h"

#include <filesystem>
#include <system_error>

#include "env/clock.h"

namespace runnel::env {

std::optional<std::int64_t> tree_bytes(const std::string& path, Duration most) {
  namespace fs = std::filesystem;
  const Duration until = real_clock().boot() + most;
  std::error_code error;
  if (fs::is_regular_file(path, error))
    return static_cast<std::int64_t>(fs::file_size(path, error));
  fs::recursive_directory_iterator at(path, error);
  std::int64_t bytes = 0;
  for (; !error && at != fs::end(at); at.increment(error)) {
    if (real_clock().boot() >= until) return std::nullopt;
    const bool is_file = !at->is_symlink(error) && at->is_regular_file(error);
    if (is_file) bytes += static_cast<std::int64_t>(at->file_size(error));
  }
  if (error) return std::nullopt;
  return bytes;
}

}  // namespace runnel::env
