#include "runner/preempt_file.h"

#include <sys/stat.h>

#include <gtest/gtest.h>

#include "env/testing/temporary_directory.h"
#include "output/testing/attempts.h"

namespace runnel::runner {
namespace {

TEST(PreemptFile, ItReplacesThePipeThatATaskPutThere) {
  const env::testing::TemporaryDirectory folder;
  ASSERT_EQ(::mkfifo((folder.path() + "/preempt.new").c_str(), 0600), 0);
  write_preempt_file(folder.path(), Time::from_millis(0));
  EXPECT_EQ(output::testing::read_text(preempt_path(folder.path())), "1970-01-01T00:00:00.000Z\n");
}

}  // namespace
}  // namespace runnel::runner
