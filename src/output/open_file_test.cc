#include "output/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include <gtest/gtest.h>

#include "env/testing/temporary_directory.h"
#include "output/testing/attempts.h"

namespace runnel::output {
namespace {

class OpenFileTest : public ::testing::Test {
 protected:
  std::string pipe(const std::string& name) const {
    const std::string path = home_.path() + "/" + name;
    EXPECT_EQ(::mkfifo(path.c_str(), 0600), 0);
    return path;
  }

  env::testing::TemporaryDirectory home_;
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

}  // namespace
}  // namespace runnel::output
