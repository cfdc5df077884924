#include "object/s3/aws_settings.h"

#include <map>

#include <gtest/gtest.h>

namespace runnel::object {
namespace {

using Variables = std::map<std::string, std::string>;

VariableOf of(Variables variables) {
  return [variables = std::move(variables)](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end() || found->second.empty()) return std::nullopt;
    return found->second;
  };
}

constexpr const char* kConfig =
    "[default]\nregion = eu-west-1\n[profile work]\nregion=eu-central-1\nendpoint_url = http://e\n"
    "s3 =\n  addressing_style = path\ncredential_process = /bin/keys --all\n";
constexpr const char* kCredentials =
    "[default]\naws_access_key_id = AK\naws_secret_access_key = SK\n"
    "[half]\naws_access_key_id = AK\n";

TEST(AwsSettings, VariablesComeBeforeFiles) {
  const AwsSettings files = MUST(aws_settings(of({}), kConfig, kCredentials));
  EXPECT_EQ(files.region, "eu-west-1");
  ASSERT_TRUE(files.keys.has_value());
  EXPECT_EQ(files.keys->key_id, "AK");
  const AwsSettings variables = MUST(aws_settings(of({{"AWS_REGION", "r"},
                                                      {"AWS_ENDPOINT_URL", "http://all"},
                                                      {"AWS_ENDPOINT_URL_S3", "http://s3"},
                                                      {"AWS_ACCESS_KEY_ID", "A"},
                                                      {"AWS_SECRET_ACCESS_KEY", "S"},
                                                      {"AWS_SESSION_TOKEN", "T"}}),
                                                  kConfig, kCredentials));
  EXPECT_EQ(variables.region, "r");
  EXPECT_EQ(variables.endpoint, "http://s3");
  EXPECT_EQ(variables.keys->token, "T");
}

TEST(AwsSettings, AProfileIsASectionOfBothFiles) {
  const AwsSettings work = MUST(aws_settings(of({{"AWS_PROFILE", "work"}}), kConfig, kCredentials));
  EXPECT_EQ(work.region, "eu-central-1");
  EXPECT_EQ(work.endpoint, "http://e");
  EXPECT_EQ(work.process, "/bin/keys --all");
  EXPECT_FALSE(work.keys.has_value());
}

TEST(AwsSettings, NothingIsSetWithoutAnyOfThem) {
  const AwsSettings none = MUST(aws_settings(of({}), "", ""));
  EXPECT_EQ(none.region, "us-east-1");
  EXPECT_FALSE(none.keys.has_value());
}

TEST(AwsSettings, RefusesWhatCannotBeMeant) {
  EXPECT_FALSE(aws_settings(of({{"AWS_PROFILE", "typo"}}), kConfig, kCredentials).ok());
  EXPECT_FALSE(aws_settings(of({{"AWS_PROFILE", "half"}}), kConfig, kCredentials).ok());
  EXPECT_FALSE(aws_settings(of({{"AWS_ACCESS_KEY_ID", "A"}}), "", "").ok());
  const Result<AwsSettings> broken = aws_settings(of({}), "[default]\nno setting\n", "");
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().value, "line 2");
}

TEST(AwsSettings, FilesLieBelowTheHomeUnlessNamed) {
  EXPECT_EQ(aws_config_path(of({{"HOME", "/h"}})), "/h/.aws/config");
  EXPECT_EQ(aws_credentials_path(of({{"AWS_SHARED_CREDENTIALS_FILE", "/c"}})), "/c");
}

TEST(AwsSettings, ReadsWhatAProcessPrints) {
  const Credentials keys = MUST(parse_process_credentials(
      R"({"Version": 1, "AccessKeyId": "A", "SecretAccessKey": "S", "SessionToken": "T",
          "Expiration": "2026-11-25T21:00:00Z"})"));
  EXPECT_EQ(keys.token, "T");
  EXPECT_EQ(keys.expires, MUST(parse_rfc3339("2026-11-25T21:00:00Z")));
  for (const char* text :
       {"", "[]", R"({"AccessKeyId": "A"})",
        R"({"AccessKeyId": "A", "SecretAccessKey": "S", "Expiration": "soon"})"}) {
    EXPECT_FALSE(parse_process_credentials(text).ok()) << text;
  }
}

}  // namespace
}  // namespace runnel::object
