#include "cli/program_start.h"

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

TEST(ProgramStart, IsKnownByNameOrFirstLine) {
  EXPECT_EQ(program_start("train.py", ""), "python train.py");
  EXPECT_EQ(program_start("my runs/go.sh", "#!/bin/bash\n"), "sh 'my runs/go.sh'");
  EXPECT_EQ(program_start("train", "#!/usr/bin/env python3\n"), "./train");
  EXPECT_EQ(program_start("bin/train", "#!/bin/sh"), "bin/train");
}

TEST(ProgramStart, IsNothingForAJobFile) {
  EXPECT_EQ(program_start("job.yaml", "run: echo\n"), "");
  EXPECT_EQ(program_start("job", "#!/usr/bin/env -S runnel run\nrun: echo\n"), "");
}

}  // namespace
}  // namespace runnel::cli
