#include "env/standard_streams.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace runnel::env {
namespace {

bool is_null_device(int number) {
  struct stat given{};
  struct stat null{};
  return ::fstat(number, &given) == 0 && ::stat("/dev/null", &null) == 0 &&
         given.st_rdev == null.st_rdev;
}

// Whether, with `number` closed, it becomes the null device and `other` stays what it is.
bool replaces_only(int number, int other) {
  struct stat before{};
  struct stat after{};
  ::fstat(other, &before);
  ::close(number);
  open_standard_streams();
  ::fstat(other, &after);
  return is_null_device(number) && before.st_ino == after.st_ino;
}

TEST(StandardStreams, AClosedOneBecomesTheNullDevice) {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    const pid_t child = ::fork();  // The test itself needs its streams.
    if (child == 0) ::_exit(replaces_only(number, (number + 1) % 3) ? 0 : 1);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << number;
  }
}

}  // namespace
}  // namespace runnel::env
