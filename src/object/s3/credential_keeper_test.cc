#include "object/s3/credential_keeper.h"

#include <memory>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::object {
namespace {

class SetClock final : public env::Clock {
 public:
  Time wall() const override { return now; }
  Duration boot() const override { return Duration(); }

  Time now = Time::from_millis(1'764'000'000'000);
};

class CredentialKeeperTest : public ::testing::Test {
 protected:
  ~CredentialKeeperTest() override {
    if (keeper_) MUST(loop_->block_on(keeper_->stop()));
  }
  void keep(AwsSettings settings) {
    keeper_ = MUST(CredentialKeeper::create(*loop_, clock_, std::move(settings)));
  }
  // A process that prints keys which end after `lasts`, numbered by the calls.
  AwsSettings process(Duration lasts) {
    const std::string calls = folder_.path() + "/calls";
    AwsSettings settings;
    settings.process = "echo >> " + calls + "; echo '{\"AccessKeyId\": \"A'$(wc -l < " + calls +
                       ")'\", \"SecretAccessKey\": \"S\", \"Expiration\": \"" +
                       rfc3339(clock_.now + lasts) + "\"}'";
    return settings;
  }
  Result<Credentials> keys() { return loop_->block_on(keeper_->keys({})); }

  env::testing::TemporaryDirectory folder_;
  SetClock clock_;
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  std::unique_ptr<CredentialKeeper> keeper_;
};

TEST_F(CredentialKeeperTest, KeysOfTheEnvironmentStayAsTheyAre) {
  AwsSettings settings;
  settings.keys = Credentials{"A", "S", "T", {}};
  keep(settings);
  EXPECT_EQ(MUST(keys()).token, "T");
  keeper_->refused(*settings.keys);
  EXPECT_EQ(MUST(keys()).key_id, "A") << "there are no others";
}

TEST_F(CredentialKeeperTest, SaysWhatToSetWhenThereAreNone) {
  keep({});
  EXPECT_EQ(keys().error().code, Errc::kDenied);
  EXPECT_NE(keys().error().hint.find("AWS_SECRET_ACCESS_KEY"), std::string::npos);
}

TEST_F(CredentialKeeperTest, RenewsBeforeTheyEnd) {
  keep(process(Duration::hours(1)));
  EXPECT_EQ(MUST(keys()).key_id, "A1");
  clock_.now = clock_.now + Duration::minutes(54);
  EXPECT_EQ(MUST(keys()).key_id, "A1");
  clock_.now = clock_.now + Duration::minutes(2);
  EXPECT_EQ(MUST(keys()).key_id, "A2");
}

TEST_F(CredentialKeeperTest, RenewsWhatTheStoreCallsOver) {
  keep(process(Duration::hours(1)));
  const Credentials first = MUST(keys());
  keeper_->refused(first);
  EXPECT_EQ(MUST(keys()).key_id, "A2");
  keeper_->refused(first);
  EXPECT_EQ(MUST(keys()).key_id, "A2") << "an answer to a request that was signed before";
}

TEST_F(CredentialKeeperTest, AFailingProcessIsAnError) {
  AwsSettings settings;
  settings.process = "echo no keys; exit 1";
  keep(settings);
  EXPECT_FALSE(keys().ok());
}

}  // namespace
}  // namespace runnel::object
