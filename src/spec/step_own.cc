// The fields of a step that belong to it alone: what it runs, after what, and how often.
#include "base/check.h"
#include "spec/parameters.h"
#include "spec/scalars.h"
#include "spec/search.h"
#include "spec/step_draft.h"

namespace runnel::spec {
namespace {

void refuse_too_long(Scope& scope, const Item& item, std::size_t size) {
  scope.refuse(item,
               std::to_string(size) + " bytes are more than a step's command may have (" +
                   std::to_string(model::kScriptBytesMax) + ")",
               std::to_string(size), "put the script into a file and run that");
}

void read_run(Scope& scope, const Item& item, StepDraft& draft) {
  draft.script = item.node->is_map() ? std::vector<Item>{} : texts_of(scope, item);
  if (item.node->is_map()) {
    scope.refuse(item, "`run` is a script, and this is a mapping", "a mapping",
                 "put quotes around a line that holds ': ', or write the script below `run: |`");
    return;
  }
  std::string& run = std::get<model::Command>(draft.spec.run).script;
  for (const Item& line : draft.script) {
    if (!run.empty()) run += '\n';
    run += line.node->text;
  }
  if (run.size() > model::kScriptBytesMax) refuse_too_long(scope, item, run.size());
  const bool blank = run.find_first_not_of(" \t\r\n") == std::string::npos;
  if (blank && !draft.script.empty()) {
    scope.refuse(item, "`run` holds no command", "",
                 "write at least one, such as run: python train.py");
  }
}

void read_command(Scope& scope, const Item& item, StepDraft& draft) {
  std::vector<std::string>& command = std::get<model::Command>(draft.spec.run).argv;
  if (!item.node->is_list()) {
    scope.refuse(item,
                 "`command` is a list of arguments, and this is " +
                     (item.node->is_scalar() ? "the text '" + shown(*item.node) + "'"
                                             : std::string(kind_name(*item.node))),
                 shown(*item.node), "write [program, argument], or use `run` for a shell line");
    return;
  }
  draft.script = texts_of(scope, item);
  std::size_t size = 0;
  for (const Item& argument : draft.script) {
    command.push_back(argument.node->text);
    size += argument.node->text.size() + 1;
  }
  if (size > model::kScriptBytesMax) refuse_too_long(scope, item, size);
  if (!command.empty() && command[0].empty()) {
    scope.refuse(draft.script[0], "the program's name is empty", "",
                 "write the program first: [program, argument]");
  }
}

// A search without a program gives its trials to whoever asks.
void refuse_what_runs(Scope& scope, const Item& item) {
  for (const std::string name :
       {"num_nodes", "procs_per_node", "resources", "checkpoint", "metrics", "health",
        "max_duration", "grace", "max_log", "envs", "secrets"}) {
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
    return;
  }
  if (run) read_run(scope, *run, draft);
  if (command) read_command(scope, *command, draft);
  const YamlNode& node = *object.item().node;
  // A field that is there and was refused has its own message.
  if (run || command || node.find("run") != nullptr || node.find("command") != nullptr) return;
  if (draft.spec.search) draft.spec.run = model::ExternalTrials();
  if (node.find("search") != nullptr) return refuse_what_runs(scope, object.item());
  scope.refuse(draft.item, "there is nothing to run", "",
               "add `run: COMMAND` or `command: [program, argument]`");
}

void check_grid(Scope& scope, StepDraft& draft) {
  CHECK(draft.spec.params.size() <= model::kParametersMax, "parameters were bounded");
  const std::optional<std::int64_t> cells = grid_cells(draft.spec.params);
  const Item at = draft.params ? *draft.params : draft.foreach ? *draft.foreach : draft.item;
  draft.spec.task_count = 1;
  if (draft.spec.samples) {
    draft.spec.task_count = *draft.spec.samples;
    if (!cells) scope.refuse(at, "the grid has more than 2^62 cells", "", "use smaller ranges");
    return;
  }
  if (draft.samples) return;  // Given and wrong: reported.
  for (const model::Parameter& parameter : draft.spec.params) {
    if (!parameter.continuous()) continue;
    scope.refuse(at,
                 "`" + parameter.name + "` has infinitely many values, and `samples` is missing",
                 parameter.name, "add samples: N to draw N of them");
    return;
  }
  if (!cells || *cells > model::kTasksPerStepMax) {
    const std::string count = cells ? std::to_string(*cells) : "more than 2^62";
    scope.refuse(at,
                 "the full grid has " + count + " tasks, more than " +
                     std::to_string(model::kTasksPerStepMax),
                 count, "add samples: N to draw N of them, or use fewer values");
    return;
  }
  draft.spec.task_count = *cells;
}

// What a parameter says that only a search understands.
void refuse_searched(Scope& scope, const StepDraft& draft) {
  for (const model::Parameter& parameter : draft.spec.params) {
    if (!parameter.log && parameter.step.empty() && !parameter.when) continue;
    const Item at{draft.params->node->find(parameter.name), draft.params->path_of(parameter.name)};
    scope.refuse(at, "only a search understands `log`, `step` and `when`", parameter.name,
                 "add `search`, or use range, uniform, loguniform or choice alone");
  }
}

void read_grid(Scope& scope, ObjectReader& object, StepDraft& draft) {
  draft.params = object.take("params");
  draft.foreach = object.take("foreach");
  draft.samples = object.take("samples");
  if (draft.params) draft.spec.params = read_parameters(scope, *draft.params);
  if (draft.foreach) {
    const bool taken = draft.params && draft.params->node->find("item") != nullptr;
    if (taken) {
      scope.refuse(*draft.foreach,
                   "`foreach` names its values {{item}}, and `params` has an `item` too", "item",
                   "rename the parameter");
    } else if (draft.spec.params.size() >= model::kParametersMax) {
      scope.refuse(*draft.foreach, "`foreach` is one parameter too many", "item",
                   "use at most " + std::to_string(model::kParametersMax));
    } else if (auto parameter = read_foreach(scope, *draft.foreach)) {
      draft.spec.params.push_back(std::move(*parameter));
    }
  }
  if (draft.samples) {
    draft.spec.samples = read_count(scope, *draft.samples, {1, model::kTasksPerStepMax});
  }
  const std::optional<Item> search = object.take("search");
  if (search) return read_search(scope, *search, draft);
  refuse_searched(scope, draft);
  check_grid(scope, draft);
}

}  // namespace

void read_own_fields(Scope& scope, ObjectReader& object, StepDraft& draft) {
  if (const auto item = object.take("depends_on")) draft.depends_on = texts_of(scope, *item);
  read_grid(scope, object, draft);
  read_script(scope, object, draft);
}

}  // namespace runnel::spec
