#include "store/sqlite/detail/index_blocks.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>

#include "base/check.h"

namespace runnel::store::sqlite {
namespace {

// What SQLite cuts an index to, and nothing else.
constexpr off_t kEmptied = 3;
constexpr std::size_t kPiece = 32 << 10;

bool fill_with_zeros(int file, off_t length) {
  static constexpr std::array<char, kPiece> kZeros{};
  for (off_t at = 0; at < length;) {
    const auto size = std::min<std::size_t>(kPiece, static_cast<std::size_t>(length - at));
    const ssize_t wrote = ::pwrite(file, kZeros.data(), size, at);
    if (wrote <= 0) return false;
    at += wrote;
  }
  return true;
}

int cut(int file, off_t length) {
  struct stat info{};
  const bool index = length == kEmptied && ::fstat(file, &info) == 0 && info.st_size > kEmptied;
  if (index && fill_with_zeros(file, info.st_size)) return 0;
  return ::ftruncate(file, length);
}

}  // namespace

void keep_index_blocks() {
  static const bool kDone = [] {
    sqlite3_vfs* const files = sqlite3_vfs_find(nullptr);
    CHECK(files != nullptr && files->iVersion >= 3, "SQLite has a file system of its own");
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): the interface's type.
    const auto call = reinterpret_cast<sqlite3_syscall_ptr>(&cut);
    return files->xSetSystemCall(files, "ftruncate", call) == SQLITE_OK;
  }();
  CHECK(kDone, "SQLite knows the call");
}

}  // namespace runnel::store::sqlite
