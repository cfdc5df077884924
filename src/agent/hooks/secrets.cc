#include "agent/hooks/secrets.h"

#include <string_view>
#include <utility>

#include "env/files.h"
#include "json/value.h"

namespace runnel::agent {
namespace {

constexpr std::string_view kFileSource = "file:";

Error missing(const model::SecretRef& secret, std::string why) {
  return Error(Errc::kNotFound, "the secret " + secret.name + " " + std::move(why))
      .with_field("secrets." + secret.name)
      .with_value(secret.source);
}

Result<std::string> from_file(const model::SecretRef& secret) {
  const std::string path = secret.source.substr(kFileSource.size());
  Result<std::string> value = env::read_file(path, Bytes::count(kSecretBytesMax));
  if (!value.ok()) return missing(secret, "cannot be read: " + value.error().message);
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

}  // namespace

Result<std::vector<std::pair<std::string, std::string>>> secret_values(
    const std::string& home, const JobId& job, const std::vector<model::SecretRef>& secrets) {
  std::vector<std::pair<std::string, std::string>> found;
  if (secrets.empty()) return found;
  const std::string path = home + "/secrets/" + job.str();
  json::Value values;
  if (env::exists(path)) values = TRY(json::parse(TRY(env::read_file(path))));
  for (const model::SecretRef& secret : secrets) {
    const bool in_file = secret.source.starts_with(kFileSource);
    Result<std::string> value = in_file ? from_file(secret) : from_values(secret, values);
    found.emplace_back(secret.name, TRY(std::move(value)));
  }
  return found;
}

}  // namespace runnel::agent
