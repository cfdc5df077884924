#include "spec/step_checks.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "base/check.h"
#include "base/nearest.h"
#include "model/node.h"

namespace runnel::spec {
namespace {

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

// The amount of one resource on the node that has most of it.
struct Largest {
  std::int64_t amount = 0;
  std::string node;
  bool is_spot = false;
};

template <typename Amount>
Largest largest(const std::vector<model::NodeInfo>& nodes, const Amount& amount_of) {
  Largest result;
  for (const model::NodeInfo& node : nodes) {
    const std::int64_t amount = amount_of(node.capacity);
    // Of equals one that everybody may use.
    const bool is_open_equal = amount == result.amount && result.is_spot && !node.spot;
    if (result.node.empty() || amount > result.amount || is_open_equal) {
      result = {amount, node.id.str(), node.spot};
    }
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
      refuse("cpus", cpus_text(need.milli_cpus) + " cpus", cpus_text(cpus.amount), cpus);
    }
    const Largest memory =
        largest(nodes_, [](const model::Resources& has) { return has.memory.count(); });
    if (need.memory.count() > memory.amount) {
      refuse("memory", to_string(need.memory), to_string(Bytes::count(memory.amount)), memory);
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
           device + ":" + std::to_string(most.amount), most);
  }

  void refuse_device(const std::string& device) {
    std::set<std::string_view> known;
    for (const model::NodeInfo& node : nodes_) {
      for (const auto& [name, count] : node.capacity.accelerators) known.insert(name);
    }
    fits_ = false;
    const std::string& unknown = context_.devices_unknown;
    scope_.refuse(
        resource_item(draft_, "accelerators"),
        "no node has the device '" + device + "'" +
            (unknown.empty() ? "" : ", as those of this machine are not known: " + unknown),
        device,
        known.empty() ? "declare a node that has it in " + context_.nodes_file
                      : "the devices are " + listed({known.begin(), known.end()}));
  }

  void refuse(std::string_view key, const std::string& asked, const std::string& has,
              const Largest& largest) {
    fits_ = false;
    const bool is_closed = largest.is_spot && !draft_.spec.spot;
    scope_.refuse(
        resource_item(draft_, key),
        asked + " is more than any node has: the largest, '" + largest.node + "', has " + has,
        asked,
        "ask for " + has + " or less" +
            (is_closed ? ", with spot: true or --spot since that may be taken away" : "") +
            or_more_nodes(context_));
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

// A budget would be no limit where nothing has a price.
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

void refuse_without_spot(const Scope& scope, const StepDraft& draft) {
  const std::int32_t needed = draft.spec.num_nodes;
  const std::string each = draft.spec.resources.describe();
  scope.refuse(draft.resources ? *draft.resources : draft.item,
               "only with spot nodes, which may be taken away at short notice, is there room for " +
                   (needed == 1 ? each : std::to_string(needed) + " places of " + each),
               each,
               "write resources: {spot: true}, or run it with --spot, if the step can bear that");
}

// The nodes if several places of one gang might share each.
std::vector<model::NodeInfo> sharing(std::vector<model::NodeInfo> nodes) {
  for (model::NodeInfo& node : nodes) node.colocate = true;
  return nodes;
}

}  // namespace

void link_steps(const Scope& scope, std::vector<StepDraft>& drafts) {
  std::map<std::string_view, StepIndex> positions;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    positions.emplace(drafts[i].spec.name, StepIndex(static_cast<std::int32_t>(i)));
  }
  CHECK(positions.size() == drafts.size(), "the keys of a mapping are distinct");
  for (StepDraft& draft : drafts) link_step(scope, draft, positions);
}

void settle_resources(std::vector<StepDraft>& drafts) {
  for (StepDraft& draft : drafts) {
    model::StepSpec& step = draft.spec;
    if (step.is_external()) {  // Drops what the job gives its other steps.
      step.num_nodes = step.procs_per_node = 1;
      step.checkpoint.reset();
      step.metrics = {};
      continue;
    }
    const std::int64_t ranks = std::int64_t{step.num_nodes} * step.procs_per_node;
    if (draft.cpus_given || ranks > model::kRanksPerTaskMax) continue;
    step.resources.milli_cpus = std::int64_t{1000} * step.procs_per_node;
  }
}

void check_capacity(const Scope& scope, const StepDraft& draft, const ParseContext& context) {
  if (context.nodes.empty()) return;
  if (draft.spec.is_external()) return;
  const std::vector<model::NodeInfo> nodes = usable(draft, context.nodes);
  check_budget(scope, draft, nodes, context);
  const std::int64_t needed = draft.spec.num_nodes;
  const std::int64_t found = places(draft, nodes, needed);
  CHECK(found <= needed, "places are counted up to what is needed");
  if (found >= needed) return;
  if (places(draft, context.nodes, needed) >= needed) return refuse_without_spot(scope, draft);
  if (!AmountCheck(scope, draft, context.nodes, context).run()) return;
  const std::string each = draft.spec.resources.describe();
  const std::string left_out =
      nodes.size() < context.nodes.size() ? ", spot nodes not counted" : "";
  if (found == 0) {
    const Item& at = draft.resources ? *draft.resources : draft.item;
    scope.refuse(at, "no node has all of " + each + " at once" + left_out, each,
                 "ask for less" + or_more_nodes(context));
    return;
  }
  const bool would_share = places(draft, sharing(nodes), needed) >= needed;
  scope.refuse(place_of_size(draft),
               std::to_string(needed) + " places of " + each + " do not fit: the nodes hold " +
                   std::to_string(found) + (would_share ? ", one each" : "") + left_out,
               std::to_string(needed),
               would_share
                   ? "let the places of a gang share a node: write colocate: true at the "
                     "node in " +
                         context.nodes_file
                   : "ask for " + std::to_string(found) + " or less" + or_more_nodes(context));
}

}  // namespace runnel::spec
