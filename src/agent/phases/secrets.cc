#include "agent/phases/secrets.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "env/files.h"

namespace runnel::agent {
namespace {

constexpr std::string_view kFileSource = "file:";

bool is_in_file(const model::SecretRef& secret) { return secret.source.starts_with(kFileSource); }

std::string file_of(const model::SecretRef& secret) {
  return secret.source.substr(kFileSource.size());
}

Error missing(const model::SecretRef& secret, std::string why) {
  return Error(Errc::kNotFound, "the secret " + secret.name + " " + std::move(why))
      .with_field("secrets." + secret.name)
      .with_value(secret.source);
}

// The attempt fails for good: the file stays so until somebody does something about it.
Error wrong(const model::SecretRef& secret, std::string why) {
  CHECK(is_in_file(secret), "what control keeps of a secret is never the file's fault");
  Error error = missing(secret, std::move(why));
  error.code = Errc::kInvalid;
  return error.with_hint("put its value into a regular file, or hand it over at submission: " +
                         ("--secret " + secret.name));
}

// A file that is not there, not to be read, too large or no regular one.
bool stays_so(Errc code) {
  return code == Errc::kInvalid || code == Errc::kNotFound || code == Errc::kDenied ||
         code == Errc::kFull;
}

// What a disk refuses for other reasons may pass: the attempt is tried again.
Error unreadable(const model::SecretRef& secret, const Error& cause) {
  const std::string why = "cannot be read: " + cause.message;
  return stays_so(cause.code) ? wrong(secret, why) : missing(secret, why).with_hint(cause.hint);
}

Result<std::string> from_file(const model::SecretRef& secret, Result<std::string> value) {
  if (!value.ok()) return unreadable(secret, value.error());
  if (value->ends_with('\n')) value->pop_back();
  if (value->find('\0') != std::string::npos) return wrong(secret, "holds a zero byte");
  return value;
}

Result<std::string> from_values(const model::SecretRef& secret,
                                const SecretSource::Values& values) {
  auto value = values.find(secret.source);
  // Values that 0.1 kept go by the name of the variable.
  if (value == values.end()) value = values.find(secret.name);
  if (value == values.end()) {
    return missing(secret, "has no value any more; submit the job again");
  }
  return value->second;
}

}  // namespace

// All that need the same file of a user first wait for it once.
Workplace SecretsPhase::workplace(const model::StartOrder& order) const {
  const auto in_file = std::find_if(order.secrets.begin(), order.secrets.end(), is_in_file);
  return {
      in_file == order.secrets.end() ? source_->place(order.attempt.task.job) : file_of(*in_file),
      Reach::kFolder};
}

Result<Readiness> SecretsPhase::prepare(const NodeId& node, const model::StartOrder& order,
                                        Readiness so_far, PathTrail& trail) const {
  SecretSource::Values values;
  if (!std::all_of(order.secrets.begin(), order.secrets.end(), is_in_file)) {
    CHECK(source_, "an order names a value of a source that its agent was not given");
    const JobId& job = order.attempt.task.job;
    trail.follow(source_->place(job));
    values = TRY(source_->values(node, job));
  }
  for (const model::SecretRef& secret : order.secrets) {
    std::string value;
    if (is_in_file(secret)) {
      trail.follow(file_of(secret));
      value =
          TRY(from_file(secret, env::read_file(file_of(secret), Bytes::count(kSecretBytesMax))));
    } else {
      value = TRY(from_values(secret, values));
    }
    so_far.secrets.emplace_back(secret.name, std::move(value));
  }
  return so_far;
}

}  // namespace runnel::agent
