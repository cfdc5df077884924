#include "env/direct_file.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "env/aligned_bytes.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

constexpr std::size_t kAlign = AlignedBytes::kAlign;

TEST(AlignedBytes, BeginAtAMultipleAndHaveRoomUpToOne) {
  AlignedBytes bytes(5'000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes.view().data()) % kAlign, 0U);
  EXPECT_EQ(bytes.size(), 5'000U);
  EXPECT_EQ(bytes.room().size(), 2 * kAlign);
  std::fill(bytes.room().begin(), bytes.room().end(), 'x');
  EXPECT_EQ(bytes.view(), std::string(5'000, 'x'));
}

TEST(DirectFile, GivesBackWhatWasWritten) {
  const testing::TemporaryDirectory folder;
  EXPECT_EQ(DirectFile::open(folder.file("file")).error().code, Errc::kNotFound);
  DirectFile file = MUST(DirectFile::create(folder.file("file")));
  MUST(file.reserve(4 * kAlign));
  EXPECT_EQ(MUST(read_file(folder.file("file"))).size(), 4 * kAlign);
  AlignedBytes bytes(2 * kAlign);
  std::fill(bytes.span().begin(), bytes.span().end(), 'a');
  MUST(file.write(kAlign, bytes.padded()));
  DirectFile again = MUST(DirectFile::open(folder.file("file")));
  AlignedBytes read(4 * kAlign);
  MUST(again.read(0, read.room(), 4 * kAlign));
  EXPECT_EQ(read.view().substr(0, kAlign), std::string(kAlign, '\0'));
  EXPECT_EQ(read.view().substr(kAlign, 2 * kAlign), std::string(2 * kAlign, 'a'));
  EXPECT_EQ(again.read(3 * kAlign, read.room(), kAlign + 1).error().code, Errc::kCorrupt)
      << "beyond its end";
}

}  // namespace
}  // namespace runnel::env
