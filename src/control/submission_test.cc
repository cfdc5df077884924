#include "control/submission.h"

#include <filesystem>
#include <functional>

#include <gtest/gtest.h>

#include "env/files.h"
#include "env/remove_tree.h"
#include "json/value.h"
#include "model/codec.h"

namespace runnel::control {
namespace {

model::JobSpec spec_with_secret() {
  model::JobSpec spec;
  spec.name = "job";
  spec.workdir = "/tmp";
  model::StepSpec step;
  step.name = "only";
  step.run = model::Command::shell("true");
  step.resources.milli_cpus = 1000;
  step.secrets = {{"TOKEN", "env:TOKEN"}};
  spec.steps = {step};
  return spec;
}

std::string body(const std::string& more) {
  return "{\"spec\":" + model::encode_text(spec_with_secret()) + more + "}";
}

TEST(Submission, ReadsSpecSecretsAndOwner) {
  const Submission read = MUST(
      read_submission(body(",\"secrets\":{\"env:TOKEN\":\"s3cret\"},\"owner\":\"me\""), "ann"));
  EXPECT_EQ(read.spec->name, "job");
  EXPECT_EQ(read.owner, "ann");
  EXPECT_EQ(read.secrets.at("env:TOKEN"), "s3cret");
  EXPECT_TRUE(needs_values(*read.spec));
}

TEST(Submission, TellsRepeatsByEverythingButTheValuesOfSecrets) {
  const auto print = [](const std::string& more, const std::string& owner = "") {
    return MUST(read_submission(body(more), owner)).fingerprint;
  };
  const std::string first = print(",\"secrets\":{\"env:TOKEN\":\"one\"}");
  EXPECT_EQ(first, print(",\"secrets\":{\"env:TOKEN\":\"two\"}"));
  EXPECT_NE(first, print(",\"secrets\":{\"env:TOKEN\":\"one\"}", "ann"));
  EXPECT_EQ(first.find("one"), std::string::npos);
}

TEST(Submission, RefusesWhatAFileIsRefusedFor) {
  const auto field = [](const std::function<void(model::JobSpec&)>& change) {
    model::JobSpec spec = spec_with_secret();
    spec.steps[0].secrets.clear();
    change(spec);
    auto read = read_submission("{\"spec\":" + model::encode_text(spec) + "}", "ann");
    return read.ok() ? std::string("taken") : read.error().field;
  };
  EXPECT_EQ(field([](auto&) {}), "taken");
  EXPECT_EQ(field([](auto& spec) { spec.name = "../../x"; }), "spec.name");
  EXPECT_EQ(field([](auto& spec) { spec.workdir = "here"; }), "spec.workdir");
  EXPECT_EQ(field([](auto& spec) { spec.steps[0].name = "s/../t"; }), "spec.steps[0].name");
  EXPECT_EQ(field([](auto& spec) { spec.steps[0].run = model::Command::shell("echo {{nope}}"); }),
            "spec.steps.only.run");
  EXPECT_EQ(field([](auto& spec) { spec.steps[0].run = model::Command::shell("echo {{nope"); }),
            "spec.steps.only.run");
  EXPECT_EQ(field([](auto& spec) {
              spec.steps[0].run = model::Command::shell("echo {{task.index}} {{{{x}}");
            }),
            "taken");
  EXPECT_EQ(field([](auto& spec) { spec.steps[0].envs = {{"A", "{{b}}"}}; }),
            "spec.steps.only.envs.A");
  EXPECT_EQ(field([](auto& spec) { spec.steps[0].checkpoint = {.dir = "../x"}; }),
            "spec.steps.only.checkpoint.dir");
  EXPECT_EQ(field([](auto& spec) {
              spec.steps[0].run = model::Command::words({"echo", "{{best.other.x}}"});
            }),
            "spec.steps.only.command[1]");
}

model::JobSpec spec_with_volume(const std::string& version, const std::string& store) {
  model::JobSpec spec = spec_with_secret();
  spec.steps[0].secrets.clear();
  spec.steps[0].volumes = {{"data", "fashion", version, store}};
  return spec;
}

TEST(Submission, AStepPublishesWhatAnotherOneWrites) {
  model::JobSpec spec = spec_with_volume("", "file:///volumes");
  spec.steps[0].volumes[0].mode = model::VolumeMode::kWrite;
  const auto read = read_submission("{\"spec\":" + model::encode_text(spec) + "}", "ann");
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  ASSERT_EQ(read->spec->steps.size(), 2U);
  EXPECT_EQ(read->spec->steps[1].name, "only.publish");
  const auto again = read_submission("{\"spec\":" + model::encode_text(*read->spec) + "}", "ann");
  EXPECT_FALSE(again.ok()) << "it comes by itself";
}

TEST(Submission, NamesTheVersionsOfItsVolumesForGood) {
  const auto field = [](const std::string& version, const std::string& store) {
    const model::JobSpec spec = spec_with_volume(version, store);
    auto read = read_submission("{\"spec\":" + model::encode_text(spec) + "}", "ann");
    return read.ok() ? std::string("taken") : read.error().field;
  };
  EXPECT_EQ(field("0123456789abcdef", "file:///volumes"), "taken");
  EXPECT_EQ(field("latest", "file:///volumes"), "spec.steps.only.volumes.data.version");
  EXPECT_EQ(field("0123456789abcde", "file:///volumes"), "spec.steps.only.volumes.data.version");
  EXPECT_EQ(field("0123456789abcdef", ""), "spec.steps.only.volumes.data.store");
  EXPECT_EQ(read_job_file("volumes: {data: fashion}\nrun: 'true'", "/tmp", "", "ann").error().field,
            "steps.job.volumes.data.version");
}

TEST(Submission, MayBringTheKeysOfABucketThatItReads) {
  const auto taken = [](const std::string& store, const std::string& variable) {
    const model::JobSpec spec = spec_with_volume("0123456789abcdef", store);
    return check_secrets(spec, {{"env:" + variable, "value"}}).ok();
  };
  EXPECT_TRUE(taken("s3://bucket", "AWS_SECRET_ACCESS_KEY"));
  EXPECT_FALSE(taken("file:///volumes", "AWS_SECRET_ACCESS_KEY"));
  EXPECT_FALSE(taken("s3://bucket", "OTHER"));
  EXPECT_TRUE(check_secrets(spec_with_volume("0123456789abcdef", "s3://bucket"), {}).ok());
}

TEST(Submission, TellsEveryFaultOfASpecification) {
  model::JobSpec spec = spec_with_secret();
  spec.steps[0].secrets.clear();
  spec.name = "../x";
  spec.steps[0].run = model::Command::shell("{{nope}}");
  spec.steps[0].metrics.log = {{"", "(loss"}};
  const Error error = read_submission("{\"spec\":" + model::encode_text(spec) + "}", "ann").error();
  EXPECT_EQ(error.field, "spec.name");
  ASSERT_EQ(error.others.size(), 2u);
  EXPECT_EQ(error.others[0].field, "spec.steps.only.run");
  EXPECT_EQ(error.others[1].field, "spec.steps.only.metrics.log[0].regex");
}

TEST(Submission, TellsEveryFaultOfAFile) {
  const Error error =
      read_job_file("name: ../x\nrun: '{{nope}}'\nmax_log: 1XB\n", "/tmp", "a.yaml", "").error();
  EXPECT_EQ(error.to_string().substr(0, 11), "a.yaml:1:7:");
  ASSERT_EQ(error.others.size(), 2u);
  EXPECT_EQ(error.others[1].where.line, 3);
}

TEST(Submission, NamesTheFieldOfEachFault) {
  const auto field = [](const std::string& text) {
    auto read = read_submission(text, "ann");
    EXPECT_FALSE(read.ok()) << text;
    return read.ok() ? std::string() : read.error().field;
  };
  EXPECT_EQ(field("{}"), "spec");
  EXPECT_EQ(field("{\"spec\":7}"), "spec");
  EXPECT_EQ(field(body("")), "secrets.env:TOKEN");
  EXPECT_EQ(field(body(",\"secrets\":{\"env:TOKEN\":7}")), "secrets.env:TOKEN");
  EXPECT_EQ(field(body(",\"secrets\":7")), "secrets");
  EXPECT_EQ(field(body(",\"secrets\":{\"env:TOKEN\":\"x\",\"OTHER\":\"x\"}")), "secrets.OTHER");
  EXPECT_EQ(field(body(",\"secrets\":{\"env:TOKEN\":\"x\"},\"ownr\":\"ann\"")), "ownr");
}

// Two steps may call two secrets by one name, and a file is read where the task starts.
TEST(Submission, NeedsAValueForEachVariableOfTheShellAndForNoFile) {
  model::JobSpec spec = spec_with_secret();
  spec.steps.push_back(spec.steps[0]);
  spec.steps[0].secrets = {{"TOKEN", "env:FIRST"}, {"CERT", "file:/etc/cert"}};
  spec.steps[1].secrets = {{"TOKEN", "env:SECOND"}};
  EXPECT_TRUE(check_secrets(spec, {{"env:FIRST", "1"}, {"env:SECOND", "2"}}).ok());
  EXPECT_EQ(check_secrets(spec, {{"env:FIRST", "1"}}).error().field, "secrets.env:SECOND");
  spec.steps[0].secrets = {{"CERT", "file:/etc/cert"}};
  spec.steps[1].secrets = {};
  EXPECT_FALSE(needs_values(spec));
  EXPECT_TRUE(check_secrets(spec, {}).ok());
  EXPECT_FALSE(check_secrets(spec, {{"file:/etc/cert", "1"}}).ok());
}

TEST(Submission, NeverShowsAValueInAnError) {
  const std::string huge(kSecretBytesMax + 1, 's');
  for (const std::string& more :
       {",\"secrets\":{\"env:TOKEN\":\"" + huge + "\"}",
        std::string(",\"secrets\":{\"env:TOKEN\":\"ssss\",\"OTHER\":\"ssss\"}")}) {
    auto read = read_submission(body(more), "ann");
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().to_string().find("ssss"), std::string::npos);
  }
}

TEST(Submission, RefusesValuesOfSecretsThatNoTaskCouldHave) {
  const std::string huge(kSecretBytesMax + 1, 's');
  for (const std::string& value : {huge, std::string("a\\u0000b")}) {
    const auto read =
        read_submission(body(",\"secrets\":{\"env:TOKEN\":\"" + value + "\"}"), "ann");
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().code, Errc::kInvalid) << "asked again it is refused again";
    EXPECT_EQ(read.error().field, "secrets.env:TOKEN");
  }
}

TEST(Submission, PlacesASyntaxErrorInTheBody) {
  auto read = read_submission("{\"spec\":\n  nonsense}", "ann");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().where.line, 2);
}

TEST(Submission, ReadsAJobFile) {
  const Submission read = MUST(read_job_file("run: echo hello\n", "/tmp", "hello.yaml", "ann"));
  ASSERT_EQ(read.spec->steps.size(), 1U);
  EXPECT_EQ(read.owner, "ann");
  auto relative = read_job_file("run: echo hello\n", "here", "hello.yaml", "");
  ASSERT_FALSE(relative.ok());
  EXPECT_EQ(relative.error().field, "workdir");
  auto bad = read_job_file("rum: echo hello\n", "/tmp", "hello.yaml", "");
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().where.file, "hello.yaml");
}

TEST(CallBody, MayBeEmptyOrHoldSecrets) {
  EXPECT_TRUE(MUST(read_call("")).secrets.empty());
  const CallBody call = MUST(read_call("{\"actor\":\"ann\",\"secrets\":{\"env:A\":\"x\"}}"));
  EXPECT_EQ(call.secrets.size(), 1U);
  EXPECT_FALSE(read_call("[]").ok());
  EXPECT_FALSE(read_call("{\"user\":\"ann\"}").ok());
}

class FileSecretsTest : public ::testing::Test {
 protected:
  FileSecretsTest() : folder_(MUST(env::make_temporary_directory("runnel-secrets-"))) {}
  ~FileSecretsTest() override { EXPECT_TRUE(env::remove_tree(folder_).ok()); }

  std::string folder_;
};

TEST_F(FileSecretsTest, KeepsValuesUntilTheyAreWiped) {
  FileSecrets secrets(folder_ + "/secrets");
  EXPECT_TRUE(MUST(secrets.jobs()).empty());
  const JobId job("0123456789ab");
  ASSERT_TRUE(secrets.put(job, {{"env:TOKEN", "s3\"cret"}}, Secrets::Taken::kYes).ok());
  EXPECT_EQ(MUST(secrets.jobs()), std::vector<JobId>{job});
  const std::string text = MUST(env::read_file(folder_ + "/secrets/" + job.str()));
  EXPECT_EQ(MUST(json::parse(text)).find("env:TOKEN")->as_text(), "s3\"cret");
  EXPECT_EQ(MUST(secrets.values(job)), (SecretValues{{"env:TOKEN", "s3\"cret"}}));
  ASSERT_TRUE(secrets.wipe(job).ok());
  ASSERT_TRUE(secrets.wipe(job).ok());
  EXPECT_TRUE(MUST(secrets.jobs()).empty());
  EXPECT_TRUE(MUST(secrets.values(job)).empty());
}

TEST_F(FileSecretsTest, OfADamagedFileNoValueIsTold) {
  FileSecrets secrets(folder_);
  const JobId job("0123456789ab");
  for (const char* text : {"{", "[]", R"({"env:TOKEN":7})"}) {
    MUST(env::write_file_atomically(secrets.path_of(job), text));
    const Result<SecretValues> values = secrets.values(job);
    ASSERT_FALSE(values.ok()) << text;
    EXPECT_EQ(values.error().code, Errc::kCorrupt);
  }
}

TEST_F(FileSecretsTest, TellApartWhatNobodyHasTakenYet) {
  FileSecrets secrets(folder_);
  const JobId job("0123456789ab");
  ASSERT_TRUE(secrets.put(job, {{"env:TOKEN", "x"}}, Secrets::Taken::kNotYet).ok());
  EXPECT_TRUE(FileSecrets(folder_).is_unsettled(job));
  EXPECT_EQ(MUST(secrets.jobs()), std::vector<JobId>{job});
  ASSERT_TRUE(secrets.settle(job).ok());
  EXPECT_FALSE(secrets.is_unsettled(job));
  ASSERT_TRUE(secrets.put(job, {{"env:TOKEN", "x"}}, Secrets::Taken::kNotYet).ok());
  ASSERT_TRUE(secrets.wipe(job).ok());
  EXPECT_TRUE(MUST(env::list_directory(folder_)).empty());
}

TEST_F(FileSecretsTest, RemovesWhatACrashLeftHalfWritten) {
  FileSecrets secrets(folder_);
  ASSERT_TRUE(env::append_file(folder_ + "/0123456789ab.tmp-17-0", "{").ok());
  EXPECT_TRUE(MUST(secrets.jobs()).empty());
  EXPECT_TRUE(MUST(env::list_directory(folder_)).empty());
}

TEST_F(FileSecretsTest, RemovesMarksWithoutValuesAndWhatWasToBecomeOne) {
  FileSecrets secrets(folder_);
  const JobId job("0123456789ab");
  ASSERT_TRUE(secrets.put(job, {{"env:TOKEN", "x"}}, Secrets::Taken::kNotYet).ok());
  ASSERT_TRUE(env::append_file(folder_ + "/1123456789ab.asked", "").ok());
  ASSERT_TRUE(env::append_file(folder_ + "/2123456789ab.asked.tmp-17-0", "").ok());
  EXPECT_EQ(MUST(secrets.jobs()), std::vector<JobId>{job});
  EXPECT_TRUE(secrets.is_unsettled(job));
  EXPECT_EQ(MUST(env::list_directory(folder_)).size(), 2U);
}

TEST_F(FileSecretsTest, LeaveWhatTheyDidNotWrite) {
  const std::vector<std::string> names = {"0123456789ab.tmp", "0123456789ab.tmp-1-", "hf_token",
                                          "hf_token.tmp-17-0"};
  for (const std::string& name : names) {
    ASSERT_TRUE(env::append_file(folder_ + "/" + name, "mine").ok());
  }
  ASSERT_TRUE(env::make_directories(folder_ + "/keys").ok());
  ASSERT_TRUE(env::make_directories(folder_ + "/zz23456789ab").ok());
  EXPECT_TRUE(MUST(FileSecrets(folder_).jobs()).empty());
  EXPECT_EQ(MUST(env::list_directory(folder_)).size(), names.size() + 2);
}

TEST_F(FileSecretsTest, RemoveNothingThroughALink) {
  const std::string real = folder_ + "/real";
  ASSERT_TRUE(env::make_directories(real).ok());
  ASSERT_TRUE(env::append_file(real + "/0123456789ab.tmp-17-0", "{").ok());
  std::filesystem::create_directory_symlink(real, folder_ + "/secrets");
  EXPECT_TRUE(MUST(FileSecrets(folder_ + "/secrets").jobs()).empty());
  EXPECT_EQ(MUST(env::list_directory(real)).size(), 1U);
}

}  // namespace
}  // namespace runnel::control
