#include "output/reopened_output.h"

#include <gtest/gtest.h>

namespace runnel::output {
namespace {

TEST(NamesOwnOutput, FindsTheNamesAnywhereInTheCommand) {
  for (const char* script : {"echo x > /dev/stderr", "make 2>&1 | tee /dev/stdout",
                             "cat >/dev/fd/2", "x=1\ny=2\necho z >>/proc/self/fd/1\n"}) {
    EXPECT_TRUE(names_own_output({"/bin/sh", "-c", script})) << script;
  }
  EXPECT_TRUE(names_own_output({"server", "--log=/dev/stdout"}));
}

TEST(NamesOwnOutput, LetsOthersShareTheirFiles) {
  EXPECT_FALSE(names_own_output({}));
  EXPECT_FALSE(names_own_output({"/bin/sh", "-c", "cat /dev/stdin > /dev/null; echo x >&2"}));
}

}  // namespace
}  // namespace runnel::output
