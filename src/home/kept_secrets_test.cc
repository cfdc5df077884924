#include "home/kept_secrets.h"

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::home {
namespace {

TEST(KeptSecretsTest, AreWhatControlKeepsUntilItWipesThem) {
  const env::testing::TemporaryDirectory home;
  const std::string folder = home.file("secrets");
  control::FileSecrets control(folder);
  const KeptSecrets kept(folder);
  const JobId job("0123456789ab");
  const NodeId node("n1");
  EXPECT_TRUE(MUST(kept.values(node, job)).empty());
  MUST(control.put(job, {{"env:TOKEN", "hush"}}, control::Secrets::Taken::kYes));
  EXPECT_EQ(MUST(kept.values(node, job)), (agent::SecretSource::Values{{"env:TOKEN", "hush"}}));
  EXPECT_TRUE(env::exists(kept.place(job))) << "it is named where it hangs";
  MUST(control.wipe(job));
  EXPECT_TRUE(MUST(kept.values(node, job)).empty());
}

}  // namespace
}  // namespace runnel::home
