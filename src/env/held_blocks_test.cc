#include "env/held_blocks.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>

#include <gtest/gtest.h>

#include "env/detail/descriptor.h"
#include "env/files.h"
#include "env/testing/length_limit.h"
#include "env/testing/temporary_directory.h"

namespace runnel::env {
namespace {

TEST(HeldBlocks, AreBeyondTheEndOfAFileThatStaysAsItIs) {
  const testing::TemporaryDirectory folder;
  MUST(write_file_atomically(folder.file("log"), "text"));
  const detail::Descriptor file(::open(folder.file("log").c_str(), O_WRONLY | O_CLOEXEC));
  const Result<void> held = hold_blocks(file.number(), Bytes(), Bytes::mebi(1));
  if (!held.ok() && held.error().code == Errc::kUnsupported) GTEST_SKIP() << held.error().message;
  ASSERT_TRUE(held.ok()) << held.error().to_string();
  EXPECT_GE(MUST(allocated(folder.file("log"))), Bytes::mebi(1));
  MUST(hold_blocks(folder.file("log"), Bytes::mebi(2)));
  EXPECT_GE(MUST(allocated(folder.file("log"))), Bytes::mebi(2));
  EXPECT_EQ(MUST(read_file(folder.file("log"))), "text");
}

TEST(HeldBlocks, RespectALimitOnTheLengthOfFiles) {
  const testing::TemporaryDirectory folder;
  MUST(write_file_atomically(folder.file("log"), "text"));
  const testing::LengthLimit limit(Bytes::kibi(512));
  const Result<void> held = hold_blocks(folder.file("log"), Bytes::mebi(1));
  ASSERT_FALSE(held.ok());
  EXPECT_EQ(held.error().code, Errc::kUnsupported);
  EXPECT_TRUE(may_write_up_to(Bytes::kibi(512)));
}

TEST(HeldBlocks, AreHeldBehindWhatWasWrittenAndGivenUp) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder.file("log");
  MUST(write_file_atomically(path, std::string(1 << 20, 'x')));
  const Result<void> held = hold_blocks_ahead(path, Bytes::mebi(1));
  if (!held.ok() && held.error().code == Errc::kUnsupported) GTEST_SKIP() << held.error().message;
  ASSERT_TRUE(held.ok()) << held.error().to_string();
  EXPECT_GE(MUST(allocated(path)), Bytes::mebi(2));
  give_up_blocks_ahead(path);
  EXPECT_LT(MUST(allocated(path)), Bytes::mebi(2));
  EXPECT_EQ(MUST(file_info(path)).size, Bytes::mebi(1));
}

TEST(HeldBlocks, OfWhatIsNoFileAreAnError) {
  const testing::TemporaryDirectory folder;
  ASSERT_EQ(::mkfifo(folder.file("pipe").c_str(), 0600), 0);
  const detail::Descriptor file(::open(folder.file("pipe").c_str(), O_RDWR | O_CLOEXEC));
  EXPECT_FALSE(hold_blocks(file.number(), Bytes(), Bytes::mebi(1)).ok());
  EXPECT_FALSE(allocated(folder.file("pipe")).ok());
  EXPECT_EQ(hold_blocks(folder.file("none"), Bytes::mebi(1)).error().code, Errc::kNotFound);
  EXPECT_EQ(allocated(folder.file("none")).error().code, Errc::kNotFound);
}

}  // namespace
}  // namespace runnel::env
