#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/units.h"

namespace runnel::object {

// Keys of an account, for a while or for ever.
struct Credentials {
  std::string key_id;
  std::string secret;
  std::string token;            // Of a session; else empty.
  std::optional<Time> expires;  // None: never.
};

// What the standard variables and files of AWS say, as its tools read them: variables before files,
// AWS_PROFILE's section of both files.
struct AwsSettings {
  std::string region = "us-east-1";
  std::string endpoint;   // Empty: AWS's own.
  std::string ca_bundle;  // A file of authorities; empty: the system's.
  std::optional<Credentials> keys;
  std::string process;  // Prints credentials, when there are no keys; else empty.
};

// The value of a variable; none: not set, or empty.
using VariableOf = std::function<std::optional<std::string>(const std::string&)>;

// `config` and `credentials` are the texts of the two files, "" where there is none. kInvalid for
// half a pair of keys, or a profile that is named and in neither file.
Result<AwsSettings> aws_settings(const VariableOf& variable, const std::string& config,
                                 const std::string& credentials);

// The paths of the two files: by variable, else below the user's home.
std::string aws_config_path(const VariableOf& variable);
std::string aws_credentials_path(const VariableOf& variable);

// What a credential process printed: kInvalid for what is no such document.
Result<Credentials> parse_process_credentials(const std::string& text);

}  // namespace runnel::object
