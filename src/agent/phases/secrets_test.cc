#include "agent/phases/secrets.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "runner/testing/runner_process.h"

namespace runnel::agent {
namespace {

// Control's, as a test wants them.
struct GivenSecrets final : SecretSource {
  Result<Values> values(const NodeId& node, const JobId& job) const override {
    asked = node.str() + "/" + job.str();
    return given;
  }
  std::string place(const JobId& job) const override { return "/kept/" + job.str(); }

  Result<Values> given = Values();
  mutable std::string asked;
};

using Values = std::vector<std::pair<std::string, std::string>>;

class SecretsTest : public ::testing::Test {
 protected:
  Result<Values> values(const std::vector<model::SecretRef>& secrets) {
    model::StartOrder order;
    order.attempt.task.job = JobId("job");
    order.secrets = secrets;
    PathTrail trail(home_.path());
    return TRY(SecretsPhase(source_).prepare(NodeId("n1"), order, {}, trail)).secrets;
  }
  void keep(SecretSource::Values values) { source_->given = std::move(values); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(home_.path() + "/" + name, std::ios::binary) << text;
  }

  env::testing::TemporaryDirectory home_;
  std::shared_ptr<GivenSecrets> source_ = std::make_shared<GivenSecrets>();
};

TEST_F(SecretsTest, OfFilesAloneControlIsNotAsked) {
  EXPECT_EQ(MUST(values({})), Values());
  write("cert", "line 1\n");
  EXPECT_EQ(MUST(values({{"CERT", "file:" + home_.path() + "/cert"}})),
            (Values{{"CERT", "line 1"}}));
  EXPECT_EQ(source_->asked, "");
}

TEST_F(SecretsTest, ComeFromTheJobsValuesAndFromFiles) {
  keep({{"env:MY_TOKEN", "a \"b\"\nc"}});
  write("cert", "line 1\nline 2\n");
  EXPECT_EQ(MUST(values({{"TOKEN", "env:MY_TOKEN"}, {"CERT", "file:" + home_.path() + "/cert"}})),
            (Values{{"TOKEN", "a \"b\"\nc"}, {"CERT", "line 1\nline 2"}}));
  EXPECT_EQ(source_->asked, "n1/job");
}

TEST_F(SecretsTest, OneNameMayHaveAnotherSourceInAnotherStep) {
  keep({{"env:FIRST", "1"}, {"env:SECOND", "2"}});
  EXPECT_EQ(MUST(values({{"TOKEN", "env:FIRST"}})), (Values{{"TOKEN", "1"}}));
  EXPECT_EQ(MUST(values({{"TOKEN", "env:SECOND"}})), (Values{{"TOKEN", "2"}}));
}

TEST_F(SecretsTest, AreFoundByNameAmongTheValuesOfEarlierBuilds) {
  keep({{"TOKEN", "1"}});
  EXPECT_EQ(MUST(values({{"TOKEN", "env:MY_TOKEN"}})), (Values{{"TOKEN", "1"}}));
}

TEST_F(SecretsTest, AMissingOneIsNamedWithoutAnyValue) {
  keep({{"env:Y", "hush"}});
  const Result<Values> missing = values({{"TOKEN", "env:MY_TOKEN"}});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().to_string(),
            "secrets.TOKEN: the secret TOKEN has no value any more; submit the job again");
  EXPECT_FALSE(values({{"CERT", "file:/no/such/file"}}).ok());
  EXPECT_FALSE(values({{"TOKEN", "env:X"}, {"OTHER", "env:Y"}}).ok());
}

TEST_F(SecretsTest, APipeIsRefusedByNameAndForGood) {
  ASSERT_EQ(::mkfifo((home_.path() + "/pipe").c_str(), 0600), 0);
  const Result<Values> refused = values({{"TOKEN", "file:" + home_.path() + "/pipe"}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  EXPECT_EQ(refused.error().to_string(),
            "secrets.TOKEN: the secret TOKEN cannot be read: " + home_.path() +
                "/pipe is a pipe, not a regular file; put its value into a regular file, or hand "
                "it over at submission: --secret TOKEN");
  EXPECT_EQ(values({{"ZEROS", "file:/dev/zero"}}).error().code, Errc::kInvalid);
}

// What nobody will put there by itself: tried again, it would only hide the cause.
TEST_F(SecretsTest, AFileThatIsNotThereOrHoldsNoSecretFailsForGood) {
  EXPECT_EQ(values({{"CERT", "file:/no/such/file"}}).error().to_string(),
            "secrets.CERT: the secret CERT cannot be read: open /no/such/file: No such file or "
            "directory; put its value into a regular file, or hand it over at submission: "
            "--secret CERT");
  write("huge", std::string(100'000, 'x'));
  write("zero", std::string("a\0b", 3));
  for (const std::string& file :
       {std::string("/no/such/file"), home_.path() + "/huge", home_.path() + "/zero"}) {
    EXPECT_EQ(values({{"TOKEN", "file:" + file}}).error().code, Errc::kInvalid) << file;
  }
}

TEST_F(SecretsTest, AFileThatMayNotBeReadFailsForGood) {
  if (::geteuid() == 0) GTEST_SKIP() << "root reads everything";
  write("closed", "hush");
  ASSERT_EQ(::chmod((home_.path() + "/closed").c_str(), 0), 0);
  EXPECT_EQ(values({{"TOKEN", "file:" + home_.path() + "/closed"}}).error().code, Errc::kInvalid);
}

TEST_F(SecretsTest, WhatTheDiskRefusesIsTriedAgain) {
  const std::string link = home_.path() + "/link";
  ASSERT_EQ(::symlink(link.c_str(), link.c_str()), 0);
  EXPECT_NE(values({{"TOKEN", "file:" + link}}).error().code, Errc::kInvalid);
}

TEST_F(SecretsTest, DamageIsAnError) {
  source_->given = Error(Errc::kCorrupt, "damaged");
  EXPECT_EQ(values({{"TOKEN", "env:MY_TOKEN"}}).error().code, Errc::kCorrupt);
}

}  // namespace
}  // namespace runnel::agent
