#include "spec/run_flags.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/check.h"
#include "model/names.h"
#include "spec/job_file.h"
#include "spec/job_reader.h"
#include "spec/scope.h"
#include "spec/yaml_build.h"

namespace runnel::spec {
namespace {

YamlNode flag_named(const char* flag) {
  YamlNode origin;
  origin.flag = flag;
  return origin;
}

YamlDraft make(YamlNode::Kind kind, const char* flag) { return new_yaml(kind, flag_named(flag)); }

YamlDraft scalar(std::string text, const char* flag) {
  return new_yaml_text(std::move(text), flag_named(flag));
}

// A field from a flag that may not have been given.
void add_flag(YamlNode& map, const char* key, const std::optional<std::string>& value,
              const char* flag) {
  if (value) add_yaml(map, key, scalar(*value, flag));
}

std::string job_name(const std::string& program) {
  const std::size_t slash = program.rfind('/');
  const std::string name =
      model::as_name(program.substr(slash == std::string::npos ? 0 : slash + 1));
  return name.empty() ? "main" : name;
}

YamlDraft command_node(const std::vector<std::string>& command) {
  CHECK(!command.empty(), "a job has a program");
  YamlDraft list = make(YamlNode::Kind::kList, "COMMAND");
  for (const std::string& word : command) {
    list->items.push_back(scalar(template_literal(word), "COMMAND"));
  }
  return list;
}

YamlDraft resources_node(const RunFlags& flags) {
  YamlDraft resources = make(YamlNode::Kind::kMap, "run");
  add_flag(*resources, "cpus", flags.cpus, "--cpus");
  add_flag(*resources, "memory", flags.memory, "--memory");
  add_flag(*resources, "accelerators", flags.gpus, "--gpus");
  if (flags.spot) add_yaml(*resources, "spot", scalar("true", "--spot"));
  return resources;
}

// What the flags say of any step.
YamlDraft fields_node(const RunFlags& flags) {
  YamlDraft job = make(YamlNode::Kind::kMap, "run");
  YamlDraft resources = resources_node(flags);
  if (!resources->members.empty()) add_yaml(*job, "resources", std::move(resources));
  add_flag(*job, "num_nodes", flags.num_nodes, "--num-nodes");
  add_flag(*job, "procs_per_node", flags.procs_per_node, "--procs-per-node");
  add_flag(*job, "max_duration", flags.max_duration, "--max-duration");
  add_flag(*job, "grace", flags.grace, "--grace");
  add_flag(*job, "max_log", flags.max_log, "--max-log");
  if (flags.retries) {
    YamlDraft retry = make(YamlNode::Kind::kMap, "--retries");
    add_flag(*retry, "max", flags.retries, "--retries");
    add_yaml(*job, "retry", std::move(retry));
  }
  return job;
}

YamlDraft job_node(const RunFlags& flags) {
  YamlDraft job = fields_node(flags);
  add_yaml(*job, "name", scalar(job_name(flags.command.front()), "COMMAND"));
  add_yaml(*job, "command", command_node(flags.command));
  return job;
}

enum class Missing : std::uint8_t { kAdd, kLeaveOut };

// `map` with the members of `flags` in place of its own; what it lacks is added or left out.
YamlNodePtr merged(const YamlNode& map, const YamlNode& flags, Missing missing) {
  CHECK(map.is_map() && flags.is_map(), "only mappings are merged");
  auto out = std::make_shared<YamlNode>(map);
  for (const YamlMember& flag : flags.members) {
    const auto own =
        std::find_if(out->members.begin(), out->members.end(),
                     [&](const YamlMember& each) { return each.key->text == flag.key->text; });
    if (own == out->members.end()) {
      if (missing == Missing::kAdd) out->members.push_back(flag);
    } else if (own->value->is_map() && flag.value->is_map()) {
      own->value = merged(*own->value, *flag.value, Missing::kAdd);
    } else {
      own->value = flag.value;
    }
  }
  return out;
}

// A step's own fields hide those of the job, and so must give way too.
YamlNodePtr steps_with(const YamlNode& steps, const YamlNode& flags) {
  auto out = std::make_shared<YamlNode>(steps);
  for (YamlMember& step : out->members) {
    if (step.value->is_map()) step.value = merged(*step.value, flags, Missing::kLeaveOut);
  }
  return out;
}

Error no_command() {
  return Error(Errc::kInvalid, "there is no command to run")
      .with_hint("write it after two dashes: runnel run -- python train.py");
}

}  // namespace

YamlNodePtr with_flags(YamlNodePtr document, const RunFlags& flags) {
  const YamlDraft fields = fields_node(flags);
  if (fields->members.empty() || !document->is_map()) return document;
  auto job = std::make_shared<YamlNode>(*merged(*document, *fields, Missing::kAdd));
  for (YamlMember& member : job->members) {
    if (member.key->text == "steps") member.value = steps_with(*member.value, *fields);
  }
  return job;
}

Result<model::JobSpec> job_from_flags(const RunFlags& flags, const ParseContext& context) {
  if (flags.command.empty() || flags.command.front().empty()) return no_command();
  for (const std::string& word : flags.command) {
    CHECK(word.find('\0') == std::string::npos, "an argument of a process holds no NUL");
  }
  const YamlDraft job = job_node(flags);
  Diagnostics faults(context.file, "");
  JobFileReport report = read_job(*job, faults, context);
  if (report.spec) return std::move(*report.spec);
  CHECK(!report.errors.empty(), "a job that was refused has a reason");
  return std::move(report.errors.front());
}

}  // namespace runnel::spec
