#include "agent/phases/volume_command.h"

#include "base/check.h"
#include "env/process.h"
#include "env/subprocess.h"
#include "model/store_variables.h"

namespace runnel::agent {
namespace {

// What a command that failed has said of it, as `-o json` has it.
Error told_error(const std::string& command, const env::Finished& finished) {
  const Result<json::Value> document = json::parse(finished.text);
  const json::Value* error = document.ok() ? document->find("error") : nullptr;
  const json::Value* message = error == nullptr ? nullptr : error->find("message");
  if (message == nullptr) {
    return {Errc::kIo, command + " has ended with " + std::to_string(finished.code)};
  }
  // What is not there will not be there later either.
  const json::Value* code = error->find("code");
  const auto is = [&code](Errc of) {
    return code != nullptr && code->as_text() == std::string(to_string(of));
  };
  // Nor do keys come to a job that has none.
  const json::Value* const field = error->find("field");
  const bool lacks_keys =
      is(Errc::kDenied) && field != nullptr && field->as_text() == "AWS_ACCESS_KEY_ID";
  const Errc kind = lacks_keys            ? Errc::kDenied
                    : is(Errc::kNotFound) ? Errc::kInvalid
                    : is(Errc::kConflict) ? Errc::kConflict
                                          : Errc::kIo;
  Error told(kind, message->as_text());
  if (field != nullptr && field->is_text()) told.with_field(field->as_text());
  if (const json::Value* hint = error->find("hint")) told.with_hint(hint->as_text());
  return told;
}

}  // namespace

Result<VolumeCommand::Environment> VolumeCommand::environment_for(
    const NodeId& node, const model::StartOrder& order) const {
  Environment environment = env::environment();
  if (!model::reads_a_bucket(order.volumes) || !secrets_) return environment;
  for (const auto& [source, value] : TRY(secrets_->values(node, order.attempt.task.job))) {
    if (!model::is_store_source(source)) continue;
    const std::string name = source.substr(source.find(':') + 1) + "=";
    std::erase_if(environment, [&](const std::string& each) { return each.starts_with(name); });
    environment.push_back(name + value);
  }
  return environment;
}

Result<json::Value> VolumeCommand::run(const std::vector<std::string>& words,
                                       const Environment& environment, Duration within) const {
  CHECK(!command_.empty(), "an agent is asked for a volume that was not told how to mount one");
  env::Subprocess process{.argv = command_, .runs_at_most = within, .environment = environment};
  process.argv.insert(process.argv.end(), words.begin(), words.end());
  process.argv.insert(process.argv.end(), {"-o", "json"});
  const env::Finished finished = TRY(env::finish(process));
  if (finished.code != 0) return told_error("runnel volume " + words.front(), finished);
  return finished.text.empty() ? json::Value() : json::parse(finished.text);
}

}  // namespace runnel::agent
