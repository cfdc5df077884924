#include "cli/paths.h"

#include <filesystem>
#include <system_error>

namespace runnel::cli {

Result<std::string> absolute_path(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  if (error) {
    return Error(Errc::kIo, "cannot tell the absolute form of a path: " + error.message())
        .with_value(path);
  }
  std::string text = absolute.lexically_normal().string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

}  // namespace runnel::cli
