// Walks a folder and reads all files in it, as a loader does: usage tree_reader DIR [--twice]
//
// Prints, for each pass: files, bytes, and the milliseconds of the walk and of the reads.

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

double millis_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void fail(const std::string& path) {
  std::perror(path.c_str());
  std::exit(1);
}

// Not every file system says it in its lists.
bool is_folder(const dirent& entry, const std::string& path) {
  if (entry.d_type != DT_UNKNOWN) return entry.d_type == DT_DIR;
  struct stat seen{};
  if (::lstat(path.c_str(), &seen) != 0) fail(path);
  return S_ISDIR(seen.st_mode);
}

void walk(const std::string& folder, std::vector<std::string>& files) {
  DIR* const entries = ::opendir(folder.c_str());
  if (entries == nullptr) fail(folder);
  while (const dirent* const entry = ::readdir(entries)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    const std::string path = folder + "/" + name;
    if (is_folder(*entry, path)) {
      walk(path, files);
    } else {
      files.push_back(path);
    }
  }
  ::closedir(entries);
}

long long read_file(const std::string& path, std::vector<char>& buffer) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(path);
  long long bytes = 0;
  while (true) {
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    if (got < 0) fail(path);
    if (got == 0) break;
    bytes += got;
  }
  ::close(file);
  return bytes;
}

void pass(const std::string& folder) {
  const Clock::time_point begin = Clock::now();
  std::vector<std::string> files;
  walk(folder, files);
  const double walked = millis_since(begin);
  std::vector<char> buffer(1 << 20);
  long long bytes = 0;
  for (const std::string& path : files) bytes += read_file(path, buffer);
  std::printf("%zu %lld %.1f %.1f\n", files.size(), bytes, walked, millis_since(begin) - walked);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: tree_reader DIR [--twice]\n");
    return 2;
  }
  pass(argv[1]);
  if (argc > 2 && std::strcmp(argv[2], "--twice") == 0) pass(argv[1]);
  return 0;
}
