#include "object/s3/aws_settings.h"

#include <ini.h>

#include <map>
#include <utility>

#include "json/value.h"

namespace runnel::object {
namespace {

using Section = std::map<std::string, std::string>;
using Sections = std::map<std::string, Section>;

int keep_line(void* user, const char* section, const char* name, const char* value) {
  auto& sections = *static_cast<Sections*>(user);
  sections[section].emplace(name, value);
  return 1;
}

Result<Sections> sections_of(const std::string& text, const std::string& which) {
  Sections sections;
  const int line = ini_parse_string(text.c_str(), keep_line, &sections);
  if (line == 0) return sections;
  return Error(Errc::kInvalid, "the " + which + " file of AWS has a line that is no setting")
      .with_value("line " + std::to_string(line))
      .with_hint("write [profile NAME], and below it: name = value");
}

std::string value_in(const Section* section, const std::string& name) {
  if (section == nullptr) return {};
  const auto found = section->find(name);
  return found == section->end() ? std::string() : found->second;
}

const Section* find(const Sections& sections, const std::string& name) {
  const auto found = sections.find(name);
  return found == sections.end() ? nullptr : &found->second;
}

// The section of the profile in each file, whose names differ by a word.
struct Profile {
  const Section* config = nullptr;
  const Section* credentials = nullptr;

  std::string value(const std::string& name) const {
    std::string found = value_in(credentials, name);
    return found.empty() ? value_in(config, name) : found;
  }
};

std::string first_of(const VariableOf& variable, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (std::optional<std::string> value = variable(name)) return *std::move(value);
  }
  return {};
}

Error half_a_pair(const std::string& place) {
  return Error(Errc::kInvalid, "only one half of a pair of keys is given in " + place)
      .with_hint("give both the access key id and the secret access key");
}

Result<std::optional<Credentials>> pair_of(std::string key_id, std::string secret,
                                           std::string token, const std::string& place) {
  if (key_id.empty() != secret.empty()) return half_a_pair(place);
  if (key_id.empty()) return std::optional<Credentials>();
  return std::optional(Credentials{std::move(key_id), std::move(secret), std::move(token), {}});
}

Result<std::optional<Credentials>> keys_of(const VariableOf& variable, const Profile& profile) {
  auto given = TRY(pair_of(first_of(variable, {"AWS_ACCESS_KEY_ID"}),
                           first_of(variable, {"AWS_SECRET_ACCESS_KEY"}),
                           first_of(variable, {"AWS_SESSION_TOKEN"}), "the environment"));
  if (given) return given;
  return pair_of(profile.value("aws_access_key_id"), profile.value("aws_secret_access_key"),
                 profile.value("aws_session_token"), "the files of AWS");
}

std::string below_home(const VariableOf& variable, const std::string& file) {
  return variable("HOME").value_or("") + "/.aws/" + file;
}

}  // namespace

Result<AwsSettings> aws_settings(const VariableOf& variable, const std::string& config,
                                 const std::string& credentials) {
  const Sections in_config = TRY(sections_of(config, "config"));
  const Sections in_credentials = TRY(sections_of(credentials, "credentials"));
  const std::optional<std::string> named = variable("AWS_PROFILE");
  const std::string name = named.value_or("default");
  const Profile profile{find(in_config, name == "default" ? name : "profile " + name),
                        find(in_credentials, name)};
  if (named && profile.config == nullptr && profile.credentials == nullptr) {
    return Error(Errc::kInvalid, "the profile '" + name + "' is in no file of AWS")
        .with_field("AWS_PROFILE")
        .with_value(name)
        .with_hint("write [" + name + "] into " + aws_credentials_path(variable));
  }
  AwsSettings settings;
  std::string region = first_of(variable, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (region.empty()) region = profile.value("region");
  if (!region.empty()) settings.region = std::move(region);
  settings.endpoint = first_of(variable, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (settings.endpoint.empty()) settings.endpoint = profile.value("endpoint_url");
  settings.ca_bundle = first_of(variable, {"AWS_CA_BUNDLE"});
  if (settings.ca_bundle.empty()) settings.ca_bundle = profile.value("ca_bundle");
  settings.keys = TRY(keys_of(variable, profile));
  settings.process = profile.value("credential_process");
  return settings;
}

std::string aws_config_path(const VariableOf& variable) {
  return variable("AWS_CONFIG_FILE").value_or(below_home(variable, "config"));
}

std::string aws_credentials_path(const VariableOf& variable) {
  return variable("AWS_SHARED_CREDENTIALS_FILE").value_or(below_home(variable, "credentials"));
}

Result<Credentials> parse_process_credentials(const std::string& text) {
  const auto wrong = [](const std::string& why) {
    return Error(Errc::kInvalid, "what credential_process printed " + why)
        .with_field("credential_process")
        .with_hint("it prints {\"Version\": 1, \"AccessKeyId\": ..., \"SecretAccessKey\": ...}");
  };
  const Result<json::Value> document = json::parse(text);
  if (!document.ok() || !document->is_object()) return wrong("is no JSON object");
  const auto text_at = [&](const char* name) {
    const json::Value* value = document->find(name);
    return value != nullptr && value->is_text() ? value->as_text() : std::string();
  };
  Credentials keys{text_at("AccessKeyId"), text_at("SecretAccessKey"), text_at("SessionToken"), {}};
  if (keys.key_id.empty() || keys.secret.empty()) return wrong("has no pair of keys");
  const std::string expires = text_at("Expiration");
  if (expires.empty()) return keys;
  const Result<Time> moment = parse_rfc3339(expires);
  if (!moment.ok()) return wrong("has an Expiration that is no time");
  keys.expires = *moment;
  return keys;
}

}  // namespace runnel::object
