#include "control/submission.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "control/bodies.h"
#include "hash/sha256.h"
#include "json/value.h"
#include "model/codec.h"
#include "model/publishing_steps.h"
#include "model/store_variables.h"
#include "model/variables.h"
#include "spec/check_job.h"
#include "spec/job_file.h"

namespace runnel::control {
namespace {

constexpr std::size_t kVersionDigits = 16;

// The "env:NAME" sources of all steps.
std::set<std::string> sources_of(const model::JobSpec& spec) {
  std::set<std::string> sources;
  for (const model::StepSpec& step : spec.steps) {
    for (const model::SecretRef& secret : step.secrets) {
      if (!model::shell_variable(secret).empty()) sources.insert(secret.source);
    }
  }
  return sources;
}

Result<SecretValues> values_of(const SecretPairs& pairs) {
  if (pairs.size() > kSecretsMax) {
    return Error(Errc::kInvalid, "has more than " + std::to_string(kSecretsMax) + " values")
        .with_field("secrets");
  }
  SecretValues values;
  for (const auto& [source, value] : pairs) {
    if (value.size() > kSecretBytesMax) {
      return Error(Errc::kInvalid, "is longer than " + std::to_string(kSecretBytesMax) + " bytes")
          .with_field("secrets." + source)
          .with_hint("hand over a file of it: file:/path");
    }
    if (value.find('\0') != std::string::npos) {
      return Error(Errc::kInvalid, "holds a NUL byte, which no environment variable can")
          .with_field("secrets." + source)
          .with_hint("encode it, as with base64");
    }
    values[source] = value;
  }
  return values;
}

std::string fingerprint_of(const Submission& submission) {
  CHECK(submission.spec != nullptr, "a submission without a specification");
  std::string text = model::encode_text(*submission.spec);
  text += '\n';
  text += submission.owner;
  return hash::sha256_hex(text);
}

Result<json::Value> parse_body(std::string_view body) {
  auto json = json::parse(body);
  if (json.ok()) return json;
  Error error = std::move(json).error();
  error.where.file = "request body";
  return error;
}

// The first of them, with the others.
Error all_of(std::vector<Error> faults) {
  CHECK(!faults.empty(), "a job that was refused has a reason");
  Error first = std::move(faults.front());
  first.others.assign(std::make_move_iterator(faults.begin() + 1),
                      std::make_move_iterator(faults.end()));
  return first;
}

// Tells every fault of it.
Result<void> judge(const model::JobSpec& spec) {
  std::vector<Error> faults = spec::check_job(spec);
  if (faults.empty()) return {};
  for (Error& fault : faults) fault.field = "spec." + fault.field;
  return all_of(std::move(faults));
}

bool is_version_id(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kVersionDigits && std::all_of(text.begin(), text.end(), is_digit);
}

// What a job reads is the same at each of its attempts. Who asks has the keys of the store, and we
// have not.
Result<void> check_pinned(const model::JobSpec& spec, const std::string& path) {
  for (std::size_t index = 0; index < spec.steps.size(); ++index) {
    const model::StepSpec& step = spec.steps[index];
    for (const model::VolumeUse& use : step.volumes) {
      const std::string field = path + "steps." + step.name + ".volumes." + use.name;
      const auto writer =
          model::writer_before(spec, StepIndex(static_cast<std::int32_t>(index)), use);
      if (!writer.ok()) return Error(writer.error()).with_field(field + ".version");
      if (!use.is_written() && !*writer && !is_version_id(use.version)) {
        return Error(Errc::kInvalid, "'" + use.version + "' is not the whole id of a version")
            .with_field(field + ".version")
            .with_value(use.version)
            .with_hint("send the id, as `runnel volume versions " + use.volume +
                       "` shows it; `runnel run` finds it by itself");
      }
      if (!use.store.empty()) continue;
      return Error(Errc::kInvalid, "the store of volume " + use.volume + " is not named")
          .with_field(field + ".store")
          .with_hint("send its URL, s3://BUCKET/PREFIX or file:///FOLDER");
    }
  }
  return {};
}

}  // namespace

bool needs_values(const model::JobSpec& spec) { return !sources_of(spec).empty(); }

Result<void> check_secrets(const model::JobSpec& spec, const SecretValues& values) {
  const std::set<std::string> sources = sources_of(spec);
  for (const std::string& source : sources) {
    if (values.contains(source)) continue;
    return Error(Errc::kInvalid, "the secret has no value")
        .with_field("secrets." + source)
        .with_hint("send its value beside the specification; it is kept until the job ends");
  }
  const bool may_have_keys = model::reads_a_bucket(spec);
  for (const auto& [source, value] : values) {
    if (sources.contains(source)) continue;
    if (may_have_keys && model::is_store_source(source)) continue;
    return Error(Errc::kInvalid, "no step of the job has a secret from this source")
        .with_field("secrets." + source)
        .with_hint("leave it out, or name it under 'secrets' of a step; values go by 'env:NAME'");
  }
  return {};
}

Result<CallBody> read_call(std::string_view json_body) {
  CallBody call;
  if (json_body.empty()) return call;
  auto body = TRY(model::read_record<ActionBody>(TRY(parse_body(json_body))));
  call.secrets = TRY(values_of(body.secrets));
  return call;
}

Result<Submission> read_submission(std::string_view json_body, const std::string& owner) {
  auto body = TRY(model::read_record<SubmissionBody>(TRY(parse_body(json_body))));
  Submission submission;
  submission.owner = owner;
  model::JobSpec spec = std::move(body.spec.read);
  TRY(judge(spec));
  TRY(check_pinned(spec, "spec."));
  TRY(model::add_publishing_steps(spec));
  submission.spec = std::make_shared<const model::JobSpec>(std::move(spec));
  submission.secrets = TRY(values_of(body.secrets));
  TRY(check_secrets(*submission.spec, submission.secrets));
  submission.fingerprint = fingerprint_of(submission);
  return submission;
}

Result<Submission> read_job_file(std::string_view yaml_body, const std::string& workdir,
                                 const std::string& file, const std::string& owner) {
  spec::ParseContext context;
  if (!file.empty()) context.file = file;
  if (workdir.empty() || workdir.front() != '/') {
    return Error(Errc::kInvalid, "a job file needs the absolute path of its folder")
        .with_field("workdir")
        .with_value(workdir)
        .with_hint("add ?workdir=/path/of/the/folder");
  }
  context.workdir = workdir;
  Submission submission;
  submission.owner = owner;
  spec::JobFileReport report = spec::parse_job_file_all(yaml_body, context);
  if (!report.spec) return all_of(std::move(report.errors));
  TRY(check_pinned(*report.spec, ""));
  TRY(model::add_publishing_steps(*report.spec));
  submission.spec = std::make_shared<const model::JobSpec>(*std::move(report.spec));
  TRY(check_secrets(*submission.spec, submission.secrets));
  submission.fingerprint = fingerprint_of(submission);
  return submission;
}

}  // namespace runnel::control
