// The fields of a step that belong to it alone: what it runs, after what, and how often.
#include "model/parameters.h"
#include "spec/parameters.h"
#include "spec/scalars.h"
#include "spec/search.h"
#include "spec/step_draft.h"

namespace runnel::spec {
namespace {

// Stands in for a program that was refused, so that it is not told to be missing as well.
constexpr const char* kRefused = "refused";

void read_run(Scope& scope, const Item& item, StepDraft& draft) {
  if (item.node->is_map()) {
    scope.refuse(item, "`run` is a script, and this is a mapping", "a mapping",
                 "put quotes around a line that holds ': ', or write the script below `run: |`");
    return;
  }
  std::string& run = std::get<model::Command>(draft.spec.run).script;
  const std::vector<Item> lines = texts_of(scope, item);
  for (const Item& line : lines) {
    if (!run.empty()) run += '\n';
    run += line.node->text;
  }
  // To the model an empty script is none.
  if (run.find_first_not_of(" \t\r\n") != std::string::npos || lines.empty()) return;
  scope.refuse(item, "`run` holds no command", "",
               "write at least one, such as run: python train.py");
}

void read_command(Scope& scope, const Item& item, StepDraft& draft) {
  if (!item.node->is_list()) {
    scope.refuse(item,
                 "`command` is a list of arguments, and this is " +
                     (item.node->is_scalar() ? "the text '" + shown(*item.node) + "'"
                                             : std::string(kind_name(*item.node))),
                 shown(*item.node), "write [program, argument], or use `run` for a shell line");
    return;
  }
  std::vector<std::string>& argv = std::get<model::Command>(draft.spec.run).argv;
  for (const Item& argument : texts_of(scope, item)) argv.push_back(argument.node->text);
}

// A search without a program gives its trials to whoever asks.
void refuse_what_runs(Scope& scope, const Item& item) {
  for (const std::string name :
       {"num_nodes", "procs_per_node", "resources", "checkpoint", "metrics", "health",
        "max_duration", "grace", "max_log", "envs", "secrets", "volumes"}) {
    const YamlNode* field = item.node->find(name);
    if (field == nullptr) continue;
    scope.refuse({field, item.path_of(name)},
                 "nothing is run here: a search without `run` and `command` gives its trials to "
                 "whoever asks",
                 shown(*field), "remove `" + name + "`, or add run: COMMAND");
  }
}

void read_script(Scope& scope, ObjectReader& object, StepDraft& draft) {
  const std::optional<Item> run = object.take("run");
  const std::optional<Item> command = object.take("command");
  if (run && command) {
    scope.refuse(*command, "`run` and `command` are both given", shown(*command->node),
                 "keep `run` for a shell script, or `command` for a program without a shell");
  }
  if (run) read_run(scope, *run, draft);
  if (command) read_command(scope, *command, draft);
  const YamlNode& node = *object.item().node;
  const bool written = node.find("run") != nullptr || node.find("command") != nullptr;
  if (written) {
    if (draft.spec.run == model::Run()) draft.spec.run = model::Command::shell(kRefused);
  } else if (node.find("search") != nullptr) {
    draft.spec.run = model::ExternalTrials();
    refuse_what_runs(scope, object.item());
  }
}

void take_foreach(Scope& scope, const Item& item, StepDraft& draft) {
  if (draft.params && draft.params->node->find("item") != nullptr) {
    scope.refuse(item, "`foreach` names its values {{item}}, and `params` has an `item` too",
                 "item", "rename the parameter");
    return;
  }
  draft.spec.params.push_back(read_foreach(scope, item));
}

void read_grid(Scope& scope, ObjectReader& object, StepDraft& draft) {
  draft.params = object.take("params");
  if (draft.params) draft.spec.params = read_parameters(scope, *draft.params);
  if (const auto foreach = object.take("foreach")) take_foreach(scope, *foreach, draft);
  if (const auto samples = object.take("samples")) {
    draft.spec.samples = read_count(scope, *samples, {1, model::kTasksPerStepMax}).value_or(1);
  }
  if (const auto search = object.take("search")) read_search(scope, *search, draft);
  draft.spec.task_count = model::task_count_of(draft.spec).value_or(1);
}

}  // namespace

void read_own_fields(Scope& scope, ObjectReader& object, StepDraft& draft) {
  if (const auto item = object.take("depends_on")) draft.depends_on = texts_of(scope, *item);
  read_grid(scope, object, draft);
  read_script(scope, object, draft);
}

}  // namespace runnel::spec
