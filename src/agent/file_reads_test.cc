#include "agent/file_reads.h"

#include <memory>

#include <gtest/gtest.h>

#include "agent/testing/dead_mount.h"
#include "async/event_loop.h"
#include "async/gate.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::agent {
namespace {

using testing::DeadMount;

class FileReadsTest : public ::testing::Test {
 protected:
  Async<std::string> read(std::string path) {
    return reads_.read(std::move(path), Bytes::count(100), {});
  }

  Async<void> count_silent(std::string path) {
    const Result<std::string> text = co_await read(std::move(path));
    if (!text.ok() && text.error().code == Errc::kTimeout) ++silent_;
    co_return {};
  }

  int silent_ = 0;
  env::testing::TemporaryDirectory folder_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  FileReads reads_{*loop_, env::real_clock(), Duration::millis(300)};
};

TEST_F(FileReadsTest, AnswerAsTheFileDoes) {
  MUST(env::append_file(folder_.file("a"), "text"));
  EXPECT_EQ(MUST(loop_->block_on(read(folder_.file("a")))), "text");
  EXPECT_EQ(loop_->block_on(read(folder_.file("b"))).error().code, Errc::kNotFound);
  MUST(env::append_file(folder_.file("a"), std::string(100, 'x')));
  EXPECT_EQ(loop_->block_on(read(folder_.file("a"))).error().code, Errc::kFull);
}

TEST_F(FileReadsTest, AFileThatHangsDelaysOnlyThoseWhoNeedIt) {
  const DeadMount mount(folder_.file("mount"));
  if (!mount.mounted()) GTEST_SKIP() << "only root with /dev/fuse can mount what never answers";
  MUST(env::append_file(folder_.file("a"), "text"));
  const std::string hangs = folder_.file("mount") + "/secret";
  async::Gate gate(*loop_);
  // More than there are threads: those who ask for one file share its thread.
  constexpr int kAskers = 2 * static_cast<int>(FileReads::kAtOnceMax);
  for (int i = 0; i < kAskers; ++i) MUST(loop_->spawn(gate, count_silent(hangs)));
  (void)loop_->block_on(loop_->sleep(Duration::millis(10)));
  EXPECT_EQ(MUST(loop_->block_on(read(folder_.file("a")))), "text");
  MUST(loop_->block_on(gate.close()));
  EXPECT_EQ(silent_, kAskers);
}

}  // namespace
}  // namespace runnel::agent
