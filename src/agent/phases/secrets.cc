#include "agent/phases/secrets.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "env/files.h"
#include "json/value.h"

namespace runnel::agent {
namespace {

constexpr std::string_view kFileSource = "file:";

std::string values_path(const std::string& home, const JobId& job) {
  return home + "/secrets/" + job.str();
}

bool is_in_file(const model::SecretRef& secret) { return secret.source.starts_with(kFileSource); }

std::string file_of(const model::SecretRef& secret) {
  return secret.source.substr(kFileSource.size());
}

Error missing(const model::SecretRef& secret, std::string why) {
  return Error(Errc::kNotFound, "the secret " + secret.name + " " + std::move(why))
      .with_field("secrets." + secret.name)
      .with_value(secret.source);
}

// What is no regular file stays so: the attempt fails, others are tried again.
Error unreadable(const model::SecretRef& secret, const Error& cause) {
  Error error = missing(secret, "cannot be read: " + cause.message);
  if (cause.code != Errc::kInvalid) return error.with_hint(cause.hint);
  error.code = Errc::kInvalid;
  return error.with_hint("put its value into a regular file, or hand it over at submission: " +
                         ("--secret " + secret.name));
}

Result<std::string> from_file(const model::SecretRef& secret, Result<std::string> value) {
  if (!value.ok()) return unreadable(secret, value.error());
  if (value->ends_with('\n')) value->pop_back();
  if (value->find('\0') != std::string::npos) return missing(secret, "holds a zero byte");
  return value;
}

Result<std::string> from_values(const model::SecretRef& secret, const json::Value& values) {
  const json::Value* value = values.is_object() ? values.find(secret.source) : nullptr;
  // Files of 0.1 go by the name of the variable.
  if (value == nullptr && values.is_object()) value = values.find(secret.name);
  if (value == nullptr || !value->is_text()) {
    return missing(secret, "has no value any more; submit the job again");
  }
  return value->as_text();
}

// Values of the job that control keeps, by source; nothing when it keeps none.
Result<json::Value> kept_values(const std::string& path) {
  const Result<std::string> text = env::read_file(path, env::kReadFileMax);
  if (!text.ok() && text.error().code == Errc::kNotFound) return json::Value();
  return json::parse(TRY(Result<std::string>(text)));
}

}  // namespace

// Whoever needs the same file of a user first waits for it once.
Workplace SecretsPhase::workplace(const model::StartOrder& order) const {
  const auto in_file = std::find_if(order.secrets.begin(), order.secrets.end(), is_in_file);
  return {in_file == order.secrets.end() ? values_path(home_, order.attempt.task.job)
                                         : file_of(*in_file),
          Reach::kFolder};
}

Result<Readiness> SecretsPhase::prepare(const model::StartOrder& order, Readiness so_far,
                                        PathTrail& trail) const {
  json::Value values;
  if (!std::all_of(order.secrets.begin(), order.secrets.end(), is_in_file)) {
    const std::string path = values_path(home_, order.attempt.task.job);
    trail.follow(path);
    values = TRY(kept_values(path));
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
