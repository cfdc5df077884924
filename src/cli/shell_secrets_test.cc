#include "cli/shell_secrets.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace runnel::cli {
namespace {

model::JobSpec with_secrets(std::vector<model::SecretRef> first,
                            std::vector<model::SecretRef> second) {
  model::JobSpec spec;
  spec.steps.resize(2);
  spec.steps[0].secrets = std::move(first);
  spec.steps[1].secrets = std::move(second);
  return spec;
}

TEST(ShellSecrets, GoByTheirSourceAndNotByTheirName) {
  ::setenv("RUNNEL_TEST_FIRST", "1", 1);
  ::setenv("RUNNEL_TEST_SECOND", "2", 1);
  const model::JobSpec spec =
      with_secrets({{"TOKEN", "env:RUNNEL_TEST_FIRST"}, {"CERT", "file:/no/such"}},
                   {{"TOKEN", "env:RUNNEL_TEST_SECOND"}});
  EXPECT_EQ(MUST(shell_secrets(spec, "submit")),
            (ShellSecrets{{"env:RUNNEL_TEST_FIRST", "1"}, {"env:RUNNEL_TEST_SECOND", "2"}}));
}

TEST(ShellSecrets, AMissingOneSaysWhatToDo) {
  const auto missing =
      shell_secrets(with_secrets({{"TOKEN", "env:RUNNEL_TEST_NONE"}}, {}), "retry");
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().to_string(),
            "secrets.TOKEN: the secret TOKEN is not set in this shell; "
            "export RUNNEL_TEST_NONE=... and retry again");
}

TEST(ShellSecrets, NoValuesAreNoMember) {
  std::string text;
  json::Writer out(text);
  out.begin_object();
  write_secrets(out, {});
  out.end_object();
  EXPECT_EQ(text, "{}");
}

}  // namespace
}  // namespace runnel::cli
