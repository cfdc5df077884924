#include "agent/hooks/secrets.h"

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

}  // namespace

std::map<std::string, Bytes> secret_files(const std::string& home, const JobId& job,
                                          const std::vector<model::SecretRef>& secrets) {
  std::map<std::string, Bytes> files;
  for (const model::SecretRef& secret : secrets) {
    if (is_in_file(secret)) {
      files[file_of(secret)] = Bytes::count(kSecretBytesMax);
    } else {
      files[values_path(home, job)] = env::kReadFileMax;
    }
  }
  return files;
}

Result<std::vector<std::pair<std::string, std::string>>> secret_values(
    const std::string& home, const JobId& job, const std::vector<model::SecretRef>& secrets,
    const SecretTexts& texts) {
  std::vector<std::pair<std::string, std::string>> found;
  json::Value values;
  const auto kept = texts.find(values_path(home, job));
  const bool none =
      kept == texts.end() || (!kept->second.ok() && kept->second.error().code == Errc::kNotFound);
  if (!none) values = TRY(json::parse(TRY(Result<std::string>(kept->second))));
  for (const model::SecretRef& secret : secrets) {
    Result<std::string> value = is_in_file(secret) ? from_file(secret, texts.at(file_of(secret)))
                                                   : from_values(secret, values);
    found.emplace_back(secret.name, TRY(std::move(value)));
  }
  return found;
}

}  // namespace runnel::agent
