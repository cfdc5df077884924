#include "spec/job_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "model/check_spec.h"
#include "model/names.h"
#include "spec/fields.h"
#include "spec/health.h"
#include "spec/places.h"
#include "spec/scalars.h"
#include "spec/step_checks.h"
#include "spec/step_draft.h"

namespace runnel::spec {
namespace {

constexpr const char* kFallbackName = "main";
// Text of a whole job: defaults are copied into each step, so a small file can ask for a huge job.
constexpr std::size_t kJobTextMax = std::size_t{16} << 20;

std::size_t text_size(const StepDraft& draft) {
  std::size_t size = 0;
  if (const model::Command* command = draft.spec.command()) {
    size += command->script.size();
    for (const std::string& word : command->argv) size += word.size();
  }
  for (const auto& [name, env] : draft.envs) size += name.size() + env.text.size();
  for (const model::LogPattern& pattern : draft.spec.metrics.log) size += pattern.regex.size();
  for (const model::Parameter& parameter : draft.spec.params) {
    for (const std::string& value : parameter.values) size += value.size();
  }
  return size;
}

// "train" from "jobs/train.yaml", or "main" when nothing of it can be a name.
std::string name_of_file(std::string_view file) {
  file.remove_prefix(std::min(file.rfind('/') + 1, file.size()));
  const std::string_view stem = file.substr(0, file.rfind('.'));
  const std::string name = model::as_name(stem);
  return name.empty() ? kFallbackName : name;
}

// `path` below `folder`, without "." and "..".
std::string absolute_path(const std::string& folder, const std::string& path) {
  const std::string joined = path.starts_with('/') ? path : folder + "/" + path;
  std::vector<std::string_view> parts;
  std::string_view rest = joined;
  while (!rest.empty()) {
    const std::string_view part = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (part == ".." && !parts.empty()) parts.pop_back();
    if (!part.empty() && part != "." && part != "..") parts.push_back(part);
  }
  std::string out;
  for (const std::string_view part : parts) out.append("/").append(part);
  return out.empty() ? "/" : out;
}

// Reads one job, top down, and gives either the whole model or all faults.
//
// Lifetime: one use; borrows the values, the faults and the context.
class JobReader {
 public:
  JobReader(const YamlNode& root, Diagnostics& faults, const ParseContext& context)
      : root_{&root, ""}, scope_{faults, context.envs, context.envs}, context_(context) {}

  JobFileReport run() {
    check_given_envs();
    check_given_secrets();
    const bool given_sound = scope_.faults.ok();
    if (auto top = ObjectReader::open(scope_, root_, top_fields())) read_top(*top);
    link_steps(scope_, drafts_);
    settle_resources(drafts_);
    settle_health(drafts_);
    assemble();
    if (given_sound) judge();
    for (const StepDraft& draft : drafts_) check_capacity(scope_, draft, context_);
    std::vector<Error> errors = scope_.faults.take();
    if (!errors.empty()) return {std::nullopt, std::move(errors)};
    CHECK(!job_.steps.empty(), "a job without faults has a step");
    CHECK(!job_.name.empty(), "a job has a name, if need be its file's");
    CHECK(job_.workdir.starts_with('/'), "a job's folder is absolute");
    return {std::move(job_), {}};
  }

 private:
  void check_given_secrets() {
    YamlNode flag;
    flag.flag = "--secret";
    for (const model::SecretRef& secret : context_.secrets) {
      if (model::is_identifier(secret.name) && model::is_secret_source(secret.source)) continue;
      scope_.refuse({&flag, ""}, "'" + shown(secret.name) + "' cannot be given as a secret",
                    shown(secret.name), "write NAME for a variable of the shell");
    }
  }

  void check_given_envs() {
    for (const auto& [name, value] : context_.envs) {
      if (!model::variable_fault(name)) continue;
      YamlNode flag;
      flag.flag = "-e";
      scope_.refuse({&flag, ""}, "'" + shown(name) + "' cannot be given as a variable", shown(name),
                    "use letters, digits and _, and none of the names that Runnel sets");
    }
  }

  void read_top(ObjectReader& top) {
    read_identity(top);
    const std::optional<Item> steps = top.take("steps");
    StepDraft draft;
    draft.item = root_;
    if (const auto envs = top.take("envs")) read_envs(scope_, *envs, draft);
    read_workdir(top);
    if (steps) refuse_own_fields(top);
    read_spread_fields(scope_, top, draft);
    if (steps) {
      read_steps(*steps, draft);
    } else if (root_.node->find("steps") == nullptr) {
      read_own_fields(scope_, top, draft);
      draft.spec.name = model::is_step_name(job_.name) ? job_.name : kFallbackName;
      drafts_.push_back(std::move(draft));
    } else {
      refuse_own_fields(top);
    }
    top.done();
  }

  void read_identity(ObjectReader& top) {
    job_.name = name_of_file(context_.file);
    if (const auto name = top.take("name")) {
      if (const auto text = read_text(scope_, *name)) take_name(*name, *text);
    }
    if (const auto priority = top.take("priority")) {
      const auto value =
          read_integer(scope_, *priority, {-model::kPriorityMax, model::kPriorityMax});
      job_.priority = static_cast<std::int32_t>(value.value_or(0));
    }
    if (const auto seed = top.take("seed")) {
      const auto value = read_integer(scope_, *seed, {0, std::numeric_limits<std::int64_t>::max()});
      job_.seed = value.value_or(0);
    }
    expect(top.take("apiVersion"), "runnel/v1");
    expect(top.take("kind"), "Job");
    take_overrides();
  }

  void take_overrides() {
    YamlNode flag;
    if (context_.name) {
      flag.flag = "--name";
      take_name({&flag, ""}, *context_.name);
    }
    if (context_.priority) {
      flag.flag = "--priority";
      job_.priority = *context_.priority;
      if (job_.priority >= -model::kPriorityMax && job_.priority <= model::kPriorityMax) return;
      scope_.refuse({&flag, ""}, std::to_string(job_.priority) + " is out of range",
                    std::to_string(job_.priority),
                    "write a whole number from " + std::to_string(-model::kPriorityMax) + " to " +
                        std::to_string(model::kPriorityMax));
    }
  }

  void take_name(const Item& item, const std::string& name) {
    if (model::is_name(name)) {
      job_.name = name;
      return;
    }
    const std::string better = model::as_name(name);
    scope_.refuse(
        item, "'" + shown(name) + "' " + model::name_fault(name, "cannot be a name"), shown(name),
        "use letters, digits, '-', '_' and '.'" + (better.empty() ? "" : ", such as " + better));
  }

  void expect(const std::optional<Item>& item, std::string_view word) {
    if (!item) return;
    const std::optional<std::string> text = read_verbatim(scope_, *item);
    if (!text || *text == word) return;
    scope_.refuse(*item, "'" + shown(*text) + "' is not known here", shown(*text),
                  "write " + std::string(word) + ", or delete the line");
  }

  void read_workdir(ObjectReader& top) {
    CHECK(context_.workdir.starts_with('/'), "the caller gives an absolute folder");
    job_.workdir = absolute_path(context_.workdir, ".");
    const std::optional<Item> item = top.take("workdir");
    if (!item) return;
    const std::optional<std::string> text = read_text(scope_, *item);
    if (!text) return;
    if (text->empty() || text->starts_with('~')) {
      scope_.refuse(*item, "'" + shown(*text) + "' is not a path", shown(*text),
                    "write an absolute path, or one relative to the file, such as .");
      return;
    }
    job_.workdir = absolute_path(context_.workdir, *text);
  }

  // In a file with steps these say what one step does, so they cannot hold for all.
  void refuse_own_fields(ObjectReader& top) {
    for (const Field& field : step_fields().fields) {
      if (field.built == Built::kNotYet || field.spread == Spread::kDefault) continue;
      const std::optional<Item> item = top.take(field.name);
      if (!item) continue;
      scope_.refuse(
          *item, "`" + std::string(field.name) + "` belongs to a step, and this file has `steps`",
          shown(*item->node), "move it below the step that it is meant for");
    }
  }

  void read_steps(const Item& item, const StepDraft& defaults) {
    if (!item.node->is_map()) {
      scope_.refuse(item,
                    "`steps` is a mapping of names to steps, and this is " +
                        std::string(kind_name(*item.node)),
                    shown(*item.node),
                    "write `steps:` and below it `NAME:` with the step's fields");
      return;
    }
    if (item.node->members.empty() || item.node->members.size() > model::kStepsMax) {
      scope_.refuse(item, std::to_string(item.node->members.size()) + " steps",
                    std::to_string(item.node->members.size()),
                    "write from 1 to " + std::to_string(model::kStepsMax));
      return;
    }
    CHECK(drafts_.empty(), "the steps are read once");
    std::size_t text = 0;
    for (const YamlMember& member : item.node->members) {
      read_step(item, member, defaults);
      text += text_size(drafts_.back());
      if (text <= kJobTextMax) continue;
      scope_.refuse(drafts_.back().item,
                    "the steps up to this one hold more than " +
                        to_string(Bytes::count(kJobTextMax)) + " of text",
                    std::to_string(text), "keep data in files of their own and name them in `run`");
      return;
    }
  }

  void read_step(const Item& steps, const YamlMember& member, const StepDraft& defaults) {
    const std::string& name = member.key->text;
    StepDraft draft = defaults;
    draft.spec.name = name;
    draft.item = {member.key.get(), steps.path_of(shown(name))};
    Scope scope = scope_;  // A step's variables are its own.
    const Item value{member.value.get(), draft.item.path};
    if (value.node->is_null()) {
      scope.refuse(draft.item, "the step is empty", "", "add `run: COMMAND` below it");
    } else if (auto object = ObjectReader::open(scope, value, step_fields())) {
      if (const auto envs = object->take("envs")) read_envs(scope, *envs, draft);
      read_spread_fields(scope, *object, draft);
      read_own_fields(scope, *object, draft);
      object->done();
    }
    drafts_.push_back(std::move(draft));
  }

  void assemble() {
    for (StepDraft& draft : drafts_) {
      merge_envs(draft);
      merge_secrets(draft);
      add_volumes(draft);
      job_.steps.push_back(draft.spec);
    }
  }

  // The job that was read is judged as any specification is.
  void judge() { report_at_places(*root_.node, model::check_spec(job_), scope_.faults); }

  void merge_envs(StepDraft& draft) {
    std::map<std::string, std::string> values;
    for (const auto& [name, env] : draft.envs) {
      values[name] = env.text;
      if (!env.missing || context_.envs.contains(name)) continue;
      scope_.refuse(env.item, "'" + name + "' has no value in the file and none was given", "",
                    "give it with -e " + name + "=VALUE (-e " + name +
                        "= for an empty one), or write a value");
    }
    for (const auto& [name, value] : context_.envs) values[name] = template_literal(value);
    draft.spec.envs.assign(values.begin(), values.end());
  }

  void merge_secrets(StepDraft& draft) {
    std::map<std::string, std::string> sources;
    for (const auto& [name, secret] : draft.secrets) sources[name] = secret.text;
    for (const model::SecretRef& given : context_.secrets) sources[given.name] = given.source;
    for (const auto& [name, source] : sources) draft.spec.secrets.push_back({name, source});
  }

  // What is run elsewhere has no folders here.
  static void add_volumes(StepDraft& draft) {
    if (draft.spec.is_external()) return;
    for (const auto& [name, use] : draft.volumes) draft.spec.volumes.push_back(use);
  }

  Item root_;
  Scope scope_;
  const ParseContext& context_;
  model::JobSpec job_;
  std::vector<StepDraft> drafts_;
};

}  // namespace

JobFileReport read_job(const YamlNode& root, Diagnostics& faults, const ParseContext& context) {
  return JobReader(root, faults, context).run();
}

}  // namespace runnel::spec
