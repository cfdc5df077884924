#include "cli/shell_secrets.h"

#include <optional>

#include "base/check.h"
#include "env/process.h"
#include "model/store_variables.h"
#include "model/variables.h"

namespace runnel::cli {
namespace {

Error not_set(const model::SecretRef& secret, const std::string& variable,
              const std::string& again) {
  return Error(Errc::kInvalid, "the secret " + secret.name + " is not set in this shell")
      .with_field("secrets." + secret.name)
      .with_value(secret.source)
      .with_hint("export " + variable + "=... and " + again + " again");
}

}  // namespace

Result<ShellSecrets> shell_secrets(const model::JobSpec& spec, const std::string& again) {
  CHECK(!again.empty(), "a missing secret needs a word for what to do again");
  ShellSecrets values;
  for (const model::StepSpec& step : spec.steps) {
    for (const model::SecretRef& secret : step.secrets) {
      const std::string variable(model::shell_variable(secret));
      if (variable.empty()) continue;
      std::optional<std::string> value = env::variable(variable);
      if (!value.has_value()) return not_set(secret, variable, again);
      values[secret.source] = *std::move(value);
    }
  }
  if (!model::reads_a_bucket(spec)) return values;
  for (const std::string_view name : model::store_variables()) {
    const std::string variable(name);
    if (std::optional<std::string> value = env::variable(variable)) {
      values["env:" + variable] = *std::move(value);
    }
  }
  return values;
}

void write_secrets(json::Writer& out, const ShellSecrets& secrets) {
  if (secrets.empty()) return;
  out.key("secrets").begin_object();
  for (const auto& [source, value] : secrets) out.field(source, value);
  out.end_object();
}

}  // namespace runnel::cli
