#include "store/sqlite/detail/index_blocks.h"

#include <fcntl.h>
#include <sqlite3.h>

#include <string>

#include <gtest/gtest.h>

#include "env/detail/descriptor.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::store::sqlite {
namespace {

using Cut = int (*)(int file, off_t length);

TEST(IndexBlocks, StayWhenSqliteEmptiesAnIndexAndGoWithWhateverElseItCuts) {
  keep_index_blocks();
  sqlite3_vfs* const files = sqlite3_vfs_find(nullptr);
  const auto cut = reinterpret_cast<Cut>(files->xGetSystemCall(files, "ftruncate"));
  const env::testing::TemporaryDirectory folder;
  const std::string path = folder.file("log-shm");
  const std::string::size_type size = 100'000;
  MUST(env::write_file_atomically(path, std::string(size, 'x')));
  const env::detail::Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_EQ(cut(file.number(), 3), 0);
  EXPECT_EQ(MUST(env::read_file(path)), std::string(size, '\0'));
  EXPECT_EQ(cut(file.number(), 10), 0);
  EXPECT_EQ(MUST(env::read_file(path)), std::string(10, '\0'));
  EXPECT_EQ(cut(file.number(), 0), 0);
  EXPECT_EQ(MUST(env::read_file(path)), "");
}

}  // namespace
}  // namespace runnel::store::sqlite
