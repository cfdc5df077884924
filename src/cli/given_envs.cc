#include "cli/given_envs.h"

#include <algorithm>
#include <optional>

#include "env/process.h"
#include "home/named_file.h"

namespace runnel::cli {
namespace {

constexpr Bytes kEnvFileMax = Bytes::mebi(16);

Error bad_env(const std::string& text, const std::string& flag) {
  return Error(Errc::kInvalid, "'" + text + "' is not of the form NAME=value")
      .with_field(flag)
      .with_value(text)
      .with_hint("write NAME=value, or NAME for its value in this shell");
}

Error unset_env(const std::string& name, const std::string& flag) {
  return Error(Errc::kInvalid, "the variable " + name + " is not set in this shell")
      .with_field(flag)
      .with_value(name)
      .with_hint("export " + name + "=..., or write " + name + "=value");
}

Result<void> add_env(Envs& envs, const std::string& text, const std::string& flag) {
  const std::size_t equals = text.find('=');
  if (text.empty() || equals == 0) return bad_env(text, flag);
  if (equals == std::string::npos) {  // As docker's -e NAME: the value it has in this shell.
    std::optional<std::string> value = env::variable(text);
    if (!value.has_value()) return unset_env(text, flag);
    envs[text] = *std::move(value);
    return {};
  }
  envs[text.substr(0, equals)] = text.substr(equals + 1);
  return {};
}

Result<void> add_env_file(Envs& envs, const std::string& path) {
  const std::string text = TRY(home::read_named_file("--env-file", path, kEnvFileMax));
  int number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.empty() || line[0] == '#') continue;
    const Result<void> added = add_env(envs, line, "--env-file");
    if (!added.ok()) return Error(added.error()).at({path, number, 1});
  }
  return {};
}

}  // namespace

Result<Envs> given_envs(const std::vector<std::string>& files,
                        const std::vector<std::string>& variables) {
  Envs envs;
  for (const std::string& path : files) TRY(add_env_file(envs, path));
  for (const std::string& text : variables) TRY(add_env(envs, text, "--env"));
  return envs;
}

}  // namespace runnel::cli
