#include "home/paths.h"

#include <unistd.h>

#include <cerrno>
#include <climits>
#include <vector>

namespace runnel::home {
namespace {

Result<std::string> current_folder() {
  char folder[PATH_MAX];
  if (::getcwd(folder, sizeof folder) != nullptr) return std::string(folder);
  return errno_error("cannot tell the current folder", errno);
}

}  // namespace

Result<std::string> absolute_path(const std::string& path) {
  const std::string whole = path.starts_with('/') ? path : TRY(current_folder()) + "/" + path;
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin < whole.size();) {
    const std::size_t end = std::min(whole.find('/', begin), whole.size());
    const std::string part = whole.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      parts.push_back(part);
    } else if (!parts.empty()) {
      parts.pop_back();
    }
  }
  std::string text;
  for (const std::string& part : parts) text += "/" + part;
  return text.empty() ? "/" : text;
}

}  // namespace runnel::home
