#include "agent/runner/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "agent/runner/preempt_file.h"
#include "agent/testing/runner_process.h"

namespace runnel::agent {
namespace {

class OpenFileTest : public ::testing::Test {
 protected:
  std::string pipe(const std::string& name) const {
    const std::string path = home_.path() + "/" + name;
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    return path;
  }

  testing::TemporaryHome home_;
};

TEST_F(OpenFileTest, NoPipeIsOpenedNorFilled) {
  const std::string path = pipe("index");
  EXPECT_FALSE(open_to_read(path).valid());
  EXPECT_FALSE(open_to_append(path).valid());
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(OpenFileTest, WhatAnAttemptInheritsIsAnOrdinaryFile) {
  const async::UniqueFd file = open_to_append(home_.path() + "/0.0.out");
  ASSERT_TRUE(file.valid());
  EXPECT_EQ(::fcntl(file.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(file.get(), F_GETFL) & O_APPEND, 0);
}

TEST_F(OpenFileTest, ANoticeOfPreemptionReplacesThePipeThatATaskPutThere) {
  pipe("preempt.new");
  write_preempt_file(home_.path(), Time::from_millis(0));
  EXPECT_EQ(testing::read_text(preempt_path(home_.path())), "1970-01-01T00:00:00.000Z\n");
}

}  // namespace
}  // namespace runnel::agent
