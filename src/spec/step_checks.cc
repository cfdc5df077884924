#include "spec/step_checks.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "base/check.h"
#include "base/nearest.h"
#include "model/node.h"
#include "model/template.h"

namespace runnel::spec {
namespace {

constexpr std::array<std::string_view, 4> kTaskNames = {
    model::kJobIdName, model::kJobNameName, model::kTaskIndexName, model::kTaskCountName};

std::vector<std::string_view> template_names(const StepDraft& draft) {
  std::vector<std::string_view> names(kTaskNames.begin(), kTaskNames.end());
  for (const model::Parameter& parameter : draft.spec.params) names.push_back(parameter.name);
  return names;
}

// Whether its author declared the parameter, even if it was refused: then it is not "unknown" as
// well.
bool is_declared(const StepDraft& draft, std::string_view name) {
  if (draft.foreach && name == "item") return true;
  return draft.params && draft.params->node->is_map() && draft.params->node->find(name) != nullptr;
}

Error unknown_name(const StepDraft& draft, std::string_view name, const std::string& written) {
  const std::vector<std::string_view> names = template_names(draft);
  const std::string meant = nearest(name, names);
  return Error(Errc::kInvalid, "'" + written + "' is not a parameter of this step")
      .with_value(written)
      .with_hint(meant.empty()
                     ? "add it to `params`, or write {{{{ for two literal braces; the names are " +
                           listed(names)
                     : "did you mean `{{" + meant + "}}`?");
}

// Every `{{name}}` of one step.
class TemplateCheck {
 public:
  TemplateCheck(const Scope& scope, const std::vector<StepDraft>& drafts, const StepDraft& draft)
      : scope_(scope), drafts_(drafts), draft_(draft) {}

  void run() const {
    for (const Item& item : draft_.script) check_text(item, item.node->text);
    for (const auto& [name, env] : draft_.envs) check_text(env.item, env.text);
    if (draft_.checkpoint_dir && draft_.spec.checkpoint) {
      check_text(*draft_.checkpoint_dir, draft_.spec.checkpoint->dir);
    }
  }

 private:
  void check_text(const Item& item, std::string_view text) const {
    for (const model::TemplatePart& part : model::scan_template(text)) {
      if (scope_.faults.full()) return;
      const std::string_view rest = text.substr(part.offset);
      if (part.kind == model::TemplatePart::Kind::kName) {
        check_name(item, part.text, rest);
      } else if (part.kind == model::TemplatePart::Kind::kOpen) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        scope_.faults.report_inside(
            item, line,
            Error(Errc::kInvalid, "'" + shown(line) + "' is not closed")
                .with_value(shown(line))
                .with_hint("write {{name}}, or {{{{ for two literal braces"));
      }
    }
  }

  void check_name(const Item& item, std::string_view name, std::string_view from_braces) const {
    if (model::is_task_name(name) || is_declared(draft_, name)) return;
    CHECK(from_braces.starts_with("{{"), "a name stands in braces");
    const std::string_view written = from_braces.substr(0, from_braces.find("}}") + 2);
    std::optional<Error> fault = name.starts_with(model::kBestPrefix)
                                     ? check_best(name, shown(written))
                                     : unknown_name(draft_, name, shown(written));
    if (fault) scope_.faults.report_inside(item, written, std::move(*fault));
  }

  // The step must have a search, be over by then, and have the parameter.
  std::optional<Error> check_best(std::string_view name, const std::string& written) const {
    const auto fault = [&](std::string message, std::string hint) {
      return Error(Errc::kInvalid, "'" + written + "' " + std::move(message))
          .with_value(written)
          .with_hint(std::move(hint));
    };
    const std::optional<model::BestName> best = model::parse_best(name);
    if (!best) return fault("is not of the form {{best.STEP.PARAMETER}}", "write all three parts");
    const auto step = std::find_if(drafts_.begin(), drafts_.end(), [&](const StepDraft& each) {
      return each.spec.name == best->step;
    });
    if (step == drafts_.end() || !step->spec.search) {
      return fault("needs a step with `search` of that name", searched_steps());
    }
    const StepIndex at(static_cast<std::int32_t>(step - drafts_.begin()));
    if (!waits_for(draft_, at)) {
      return fault("is known only when step '" + step->spec.name + "' is over",
                   "add it to depends_on");
    }
    if (is_declared(*step, best->name)) return std::nullopt;
    std::vector<std::string_view> names;
    for (const model::Parameter& parameter : step->spec.params) names.push_back(parameter.name);
    const std::string meant = nearest(best->name, names);
    return fault(
        "names no parameter of step '" + step->spec.name + "'",
        meant.empty() ? "its parameters are " + listed(names) : "did you mean `" + meant + "`?");
  }

  std::string searched_steps() const {
    std::vector<std::string_view> names;
    for (const StepDraft& each : drafts_) {
      if (each.spec.search) names.push_back(each.spec.name);
    }
    return names.empty() ? "no step of this file has a search"
                         : "the searches are " + listed(names);
  }

  // Whether `draft` waits for the step, directly or through others. Circles end at kStepsMax.
  bool waits_for(const StepDraft& draft, StepIndex step) const {
    std::set<StepIndex> seen;
    std::vector<StepIndex> todo = draft.spec.depends_on;
    while (!todo.empty()) {
      const StepIndex next = todo.back();
      todo.pop_back();
      if (next == step) return true;
      if (!seen.insert(next).second) continue;
      const auto& further = drafts_[static_cast<std::size_t>(next.value())].spec.depends_on;
      todo.insert(todo.end(), further.begin(), further.end());
    }
    return false;
  }

  const Scope& scope_;
  const std::vector<StepDraft>& drafts_;
  const StepDraft& draft_;
};

// Finds circles in `depends_on`: depth first, each step once.
class CircleFinder {
 public:
  CircleFinder(const Scope& scope, const std::vector<StepDraft>& drafts)
      : scope_(scope), drafts_(drafts), marks_(drafts.size(), Mark::kNew) {}

  void run() {
    for (std::size_t i = 0; i < drafts_.size(); ++i) {
      if (marks_[i] == Mark::kNew) visit(i);
    }
  }

 private:
  enum class Mark : std::uint8_t { kNew, kOnPath, kDone };

  // At most kStepsMax deep.
  void visit(std::size_t index) {
    CHECK(marks_[index] == Mark::kNew, "each step is visited once");
    marks_[index] = Mark::kOnPath;
    path_.push_back(index);
    CHECK(path_.size() <= drafts_.size(), "a path holds each step once");
    for (const StepIndex next : drafts_[index].spec.depends_on) {
      const auto target = static_cast<std::size_t>(next.value());
      CHECK(target < drafts_.size(), "a dependency is a position of the job");
      if (marks_[target] == Mark::kOnPath) report(index, target);
      if (marks_[target] == Mark::kNew) visit(target);
    }
    CHECK(path_.back() == index, "a path shrinks in the order in which it grew");
    path_.pop_back();
    marks_[index] = Mark::kDone;
  }

  void report(std::size_t from, std::size_t target) {
    std::string circle;
    const auto begin = std::find(path_.begin(), path_.end(), target);
    CHECK(begin != path_.end(), "the step that closes a circle is on the path");
    for (auto step = begin; step != path_.end(); ++step) circle += name(*step) + " -> ";
    circle += name(target);
    const StepDraft& draft = drafts_[from];
    const auto at = std::find_if(draft.depends_on.begin(), draft.depends_on.end(),
                                 [&](const Item& item) { return item.node->text == name(target); });
    CHECK(at != draft.depends_on.end(), "a link was read from a name");
    scope_.refuse(*at, "the steps wait for each other in a circle: " + circle, name(target),
                  "remove one of these dependencies");
  }

  const std::string& name(std::size_t index) const { return drafts_[index].spec.name; }

  const Scope& scope_;
  const std::vector<StepDraft>& drafts_;
  std::vector<Mark> marks_;
  std::vector<std::size_t> path_;
};

void link_step(const Scope& scope, StepDraft& draft,
               const std::map<std::string_view, StepIndex>& positions) {
  std::vector<std::string_view> names;
  names.reserve(positions.size());
  for (const auto& [name, position] : positions) names.push_back(name);
  for (const Item& item : draft.depends_on) {
    if (scope.faults.full()) return;
    const std::string& name = item.node->text;
    const auto found = positions.find(name);
    if (found == positions.end()) {
      const std::string meant = nearest(name, names);
      scope.refuse(
          item, "there is no step '" + shown(name) + "'", shown(name),
          meant.empty() ? "the steps are " + listed(names) : "did you mean `" + meant + "`?");
      continue;
    }
    std::vector<StepIndex>& links = draft.spec.depends_on;
    if (std::find(links.begin(), links.end(), found->second) != links.end()) {
      scope.refuse(item, "the step '" + name + "' is listed twice", name, "keep one of the two");
      continue;
    }
    links.push_back(found->second);
  }
  std::sort(draft.spec.depends_on.begin(), draft.spec.depends_on.end());
}

const Item& place_of_size(const StepDraft& draft) {
  if (draft.num_nodes) return *draft.num_nodes;
  if (draft.procs_per_node) return *draft.procs_per_node;
  return draft.resources ? *draft.resources : draft.item;
}

// The value under `key` of `resources`, or `resources` itself.
Item resource_item(const StepDraft& draft, std::string_view key) {
  if (!draft.resources) return draft.item;
  const YamlNode* node = draft.resources->node->find(key);
  return node == nullptr ? *draft.resources : Item{node, draft.resources->path_of(key)};
}

std::string cpus_text(std::int64_t milli) {
  std::string text = std::to_string(milli / 1000);
  if (milli % 1000 == 0) return text;
  const std::string decimals = std::to_string(1000 + milli % 1000).substr(1);
  return text + "." + decimals.substr(0, decimals.find_last_not_of('0') + 1);
}

// What the largest node has of one resource.
struct Largest {
  std::int64_t amount = 0;
  std::string node;
};

template <typename Amount>
Largest largest(const std::vector<model::NodeInfo>& nodes, const Amount& amount_of) {
  Largest result;
  for (const model::NodeInfo& node : nodes) {
    const std::int64_t amount = amount_of(node.capacity);
    if (result.node.empty() || amount > result.amount) result = {amount, node.id.str()};
  }
  return result;
}

std::string or_more_nodes(const ParseContext& context) {
  return ", or declare a larger node in " + context.nodes_file;
}

// Whether each resource alone fits somewhere; says which does not.
class AmountCheck {
 public:
  AmountCheck(const Scope& scope, const StepDraft& draft, const std::vector<model::NodeInfo>& nodes,
              const ParseContext& context)
      : scope_(scope), draft_(draft), nodes_(nodes), context_(context) {}

  bool run() {
    const model::Resources& need = draft_.spec.resources;
    const Largest cpus =
        largest(nodes_, [](const model::Resources& has) { return has.milli_cpus; });
    if (need.milli_cpus > cpus.amount) {
      refuse("cpus", cpus_text(need.milli_cpus) + " cpus", cpus_text(cpus.amount), cpus.node);
    }
    const Largest memory =
        largest(nodes_, [](const model::Resources& has) { return has.memory.count(); });
    if (need.memory.count() > memory.amount) {
      refuse("memory", to_string(need.memory), to_string(Bytes::count(memory.amount)), memory.node);
    }
    for (const auto& [device, count] : need.accelerators) check_device(device, count);
    return fits_;
  }

 private:
  void check_device(const std::string& device, std::int64_t count) {
    const Largest most = largest(nodes_, [&](const model::Resources& has) {
      const auto found = has.accelerators.find(device);
      return found == has.accelerators.end() ? 0 : found->second;
    });
    if (most.amount == 0) return refuse_device(device);
    if (count <= most.amount) return;
    refuse("accelerators", device + ":" + std::to_string(count),
           device + ":" + std::to_string(most.amount), most.node);
  }

  void refuse_device(const std::string& device) {
    std::set<std::string_view> known;
    for (const model::NodeInfo& node : nodes_) {
      for (const auto& [name, count] : node.capacity.accelerators) known.insert(name);
    }
    fits_ = false;
    scope_.refuse(resource_item(draft_, "accelerators"), "no node has the device '" + device + "'",
                  device,
                  known.empty() ? "declare a node that has it in " + context_.nodes_file
                                : "the devices are " + listed({known.begin(), known.end()}));
  }

  void refuse(std::string_view key, const std::string& asked, const std::string& has,
              const std::string& node) {
    fits_ = false;
    scope_.refuse(resource_item(draft_, key),
                  asked + " is more than any node has: the largest, '" + node + "', has " + has,
                  asked, "ask for " + has + " or less" + or_more_nodes(context_));
  }

  const Scope& scope_;
  const StepDraft& draft_;
  const std::vector<model::NodeInfo>& nodes_;
  const ParseContext& context_;
  bool fits_ = true;
};

// The nodes that the step may use.
std::vector<model::NodeInfo> usable(const StepDraft& draft,
                                    const std::vector<model::NodeInfo>& nodes) {
  std::vector<model::NodeInfo> found;
  for (const model::NodeInfo& node : nodes) {
    if (draft.spec.spot || !node.spot) found.push_back(node);
  }
  return found;
}

// Where nothing has a price, a budget would be no limit.
void check_budget(const Scope& scope, const StepDraft& draft,
                  const std::vector<model::NodeInfo>& nodes, const ParseContext& context) {
  if (!draft.spec.search || draft.spec.search->budget.is_zero()) return;
  for (const model::NodeInfo& node : nodes) {
    if (!node.price.is_zero()) continue;
    scope.refuse(
        draft.item, "`budget` is no limit on node '" + node.id.str() + "', which has no price",
        node.id.str(),
        "write its `price` into " + context.nodes_file + ", or use max_trials, max_duration");
    return;
  }
}

// Places of the gang that the nodes can hold at one time, counted up to `needed`.
std::int64_t places(const StepDraft& draft, const std::vector<model::NodeInfo>& nodes,
                    std::int64_t needed) {
  std::int64_t count = 0;
  for (const model::NodeInfo& node : nodes) {
    count += draft.spec.resources.times_in(node.capacity, node.colocate ? needed : 1);
    if (count >= needed) return needed;
  }
  return count;
}

}  // namespace

void check_templates(const Scope& scope, const std::vector<StepDraft>& drafts) {
  for (const StepDraft& draft : drafts) TemplateCheck(scope, drafts, draft).run();
}

void link_steps(const Scope& scope, std::vector<StepDraft>& drafts) {
  std::map<std::string_view, StepIndex> positions;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    positions.emplace(drafts[i].spec.name, StepIndex(static_cast<std::int32_t>(i)));
  }
  CHECK(positions.size() == drafts.size(), "the keys of a mapping are distinct");
  for (StepDraft& draft : drafts) link_step(scope, draft, positions);
  CircleFinder(scope, drafts).run();
}

void settle_resources(const Scope& scope, std::vector<StepDraft>& drafts) {
  for (StepDraft& draft : drafts) {
    model::StepSpec& step = draft.spec;
    if (step.outside()) {  // What the job gives its other steps.
      step.num_nodes = step.procs_per_node = 1;
      step.checkpoint.reset();
      step.metrics = {};
      continue;
    }
    CHECK(step.num_nodes >= 1, "a count that was refused left its default");
    CHECK(step.procs_per_node >= 1, "a count that was refused left its default");
    const std::int64_t ranks = std::int64_t{step.num_nodes} * step.procs_per_node;
    if (ranks > model::kRanksPerTaskMax) {
      scope.refuse(place_of_size(draft),
                   std::to_string(ranks) + " processes in one gang are more than " +
                       std::to_string(model::kRanksPerTaskMax),
                   std::to_string(ranks), "use fewer nodes or fewer processes per node");
      continue;
    }
    if (draft.cpus_given) continue;
    step.resources.milli_cpus = std::int64_t{1000} * step.procs_per_node;
  }
}

void check_capacity(const Scope& scope, const StepDraft& draft, const ParseContext& context) {
  if (context.nodes.empty()) return;
  if (draft.spec.outside()) {
    if (draft.spec.search->budget.is_zero()) return;
    scope.refuse(draft.item, "nothing is run here, so nothing is spent of `budget`", "",
                 "remove search.budget, or add run: COMMAND");
    return;
  }
  const std::vector<model::NodeInfo> nodes = usable(draft, context.nodes);
  if (nodes.empty()) {
    const Item& at = draft.resources ? *draft.resources : draft.item;
    scope.refuse(at, "all nodes are spot nodes, which may be taken away at short notice", "",
                 "write resources: {spot: true}, if the step can bear that");
    return;
  }
  check_budget(scope, draft, nodes, context);
  if (!AmountCheck(scope, draft, nodes, context).run()) return;
  const std::int64_t needed = draft.spec.num_nodes;
  const std::int64_t found = places(draft, nodes, needed);
  CHECK(found <= needed, "places are counted up to what is needed");
  if (found >= needed) return;
  const std::string each = draft.spec.resources.describe();
  if (found == 0) {
    const Item& at = draft.resources ? *draft.resources : draft.item;
    scope.refuse(at, "no node has all of " + each + " at once", each,
                 "ask for less" + or_more_nodes(context));
    return;
  }
  scope.refuse(place_of_size(draft),
               std::to_string(needed) + " places of " + each + " do not fit: the nodes hold " +
                   std::to_string(found),
               std::to_string(needed),
               "ask for " + std::to_string(found) + " or less" + or_more_nodes(context));
}

}  // namespace runnel::spec
