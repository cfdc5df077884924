#include "spec/hyper_recipe.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>
#include <vector>

#include "base/check.h"
#include "model/names.h"
#include "spec/parameters.h"
#include "spec/scalars.h"
#include "spec/scope.h"
#include "spec/yaml_build.h"

namespace runnel::spec {
namespace {

// A recipe says only whether failed tasks are run again, not how often.
constexpr const char* kRecoveryRetries = "3";
constexpr std::int64_t kRecipeCountMax = 100'000'000;

Field field(std::string_view name, std::string_view alias = "") {
  return {.name = name, .doc = "", .aliases = {alias}};
}

const FieldTable& recipe_fields() {
  static const FieldTable kTable{"a Hyper recipe", {field("version"), field("experiments")}};
  return kTable;
}

const FieldTable& experiment_fields() {
  static const FieldTable kTable{
      "an experiment",
      {field("command", "commands"), field("image"), field("image_access"), field("parameters"),
       field("sampling"), field("samples"), field("workers"), field("hardware"), field("recovery"),
       field("depends_on"), field("volumes"), field("mounts"), field("credentials"),
       field("region"), field("zone")}};
  return kTable;
}

const FieldTable& hardware_fields() {
  static const FieldTable kTable{
      "`hardware`",
      {field("gpu"), field("gpu_count"), field("cpu"), field("spot"), field("local")}};
  return kTable;
}

const FieldTable& recipe_parameter_fields() {
  static const FieldTable kTable{"a parameter", {field("range"), field("sampling")}};
  return kTable;
}

// A part of a recipe that nothing here answers to, and what happens instead.
struct Unanswered {
  std::string_view name;
  std::string_view what;
  std::string_view instead;
};

constexpr std::array<Unanswered, 6> kUnanswered = {{
    {"image", "containers are not in this version",
     "the commands use the software of the machine that they run on"},
    {"volumes", "volumes are not in this version", "the commands see this machine's files"},
    {"mounts", "volumes are not in this version", "the commands see this machine's files"},
    {"credentials", "a job holds no cloud keys", "give them by reference, with `secrets`"},
    {"region", "a home has no regions", "the job runs on the nodes of this home"},
    {"zone", "a home has no zones", "the job runs on the nodes of this home"},
}};

// The devices that a recipe may ask for, and how many of them a machine has.
struct Device {
  std::string_view name;
  std::array<std::int64_t, 3> counts;
};

constexpr std::array<Device, 2> kDevices = {{{"K80", {1, 8, 16}}, {"V100", {1, 4, 8}}}};
constexpr std::array<std::int64_t, 6> kCpuCounts = {2, 4, 8, 16, 48, 96};

std::string upper(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

template <std::size_t N>
std::string counts_text(const std::array<std::int64_t, N>& counts) {
  std::string text;
  for (const std::int64_t count : counts) {
    text += (text.empty() ? "" : ", ") + std::to_string(count);
  }
  return text;
}

struct Ends {
  std::string low;
  std::string high;
};

// "0.01-0.09": the dash that has a number on either side.
std::optional<Ends> ends_of(std::string_view text) {
  for (std::size_t dash = text.find('-', 1); dash != std::string_view::npos;
       dash = text.find('-', dash + 1)) {
    const std::string_view low = text.substr(0, dash);
    const std::string_view high = text.substr(dash + 1);
    if (decimal_text(low) && decimal_text(high)) return Ends{std::string(low), std::string(high)};
  }
  return std::nullopt;
}

YamlNodePtr range_of(const YamlNode& place, std::string key, const Ends& ends) {
  YamlDraft pair = new_yaml(YamlNode::Kind::kList, place);
  pair->items = {new_yaml_plain(ends.low, place), new_yaml_plain(ends.high, place)};
  YamlDraft range = new_yaml(YamlNode::Kind::kMap, place);
  add_yaml(*range, std::move(key), std::move(pair));
  return range;
}

// Reads a recipe top down. Lifetime: one use; borrows what it is given.
class RecipeReader {
 public:
  RecipeReader(Diagnostics& faults, Diagnostics& notes) : scope_{faults, {}, {}}, notes_(notes) {}

  YamlNodePtr run(const YamlNode& recipe) {
    const Item root{&recipe, ""};
    auto object = ObjectReader::open(scope_, root, recipe_fields());
    if (!object) return nullptr;
    if (const auto version = object->take("version")) read_integer(scope_, *version, {1, 1});
    const auto experiments = object->take("experiments");
    object->done();
    return experiments ? read_experiments(recipe, *experiments) : nullptr;
  }

 private:
  YamlNodePtr read_experiments(const YamlNode& recipe, const Item& item) {
    if (!item.node->is_map() || item.node->members.empty()) {
      scope_.refuse(item, "`experiments` is a mapping of names to experiments", shown(*item.node),
                    "write `experiments:` and below it `NAME:` with `command`");
      return nullptr;
    }
    YamlDraft job = new_yaml(YamlNode::Kind::kMap, recipe);
    YamlDraft steps = new_yaml(YamlNode::Kind::kMap, *item.node);
    const bool alone = item.node->members.size() == 1;
    if (alone) add_yaml(*job, "name", item.node->members.front().key);
    for (const YamlMember& member : item.node->members) {
      const Item experiment{member.value.get(), item.path_of(shown(member.key->text))};
      steps->members.push_back({member.key, read_experiment(experiment)});
    }
    add_yaml(*job, "steps", std::move(steps));
    return job;
  }

  YamlNodePtr read_experiment(const Item& item) {
    YamlDraft step = new_yaml(YamlNode::Kind::kMap, *item.node);
    auto object = ObjectReader::open(scope_, item, experiment_fields());
    if (!object) return step;
    if (const auto after = object->take("depends_on")) add(*step, "depends_on", *after);
    read_tasks(item, *object, *step);
    if (const auto hardware = object->take("hardware")) read_hardware(*hardware, *step);
    if (const auto recovery = object->take("recovery")) read_recovery(*recovery, *step);
    if (const auto command = object->take("command")) {
      add(*step, "run", *command);
    } else if (item.node->find("command") == nullptr && item.node->find("commands") == nullptr) {
      scope_.refuse(item, "the experiment has no `command`", "", "add command: [python train.py]");
    }
    for (const Unanswered& each : kUnanswered) {
      if (const auto value = object->take(each.name)) note(*value, each.what, each.instead);
    }
    object->take("image_access");  // Says how to fetch the image.
    object->done();
    return step;
  }

  void read_tasks(const Item& item, ObjectReader& object, YamlNode& step) {
    const auto parameters = object.take("parameters");
    const auto sampling = object.take("sampling");
    const auto samples = object.take("samples");
    const auto workers = object.take("workers");
    if (sampling) expect_word(*sampling, "random");
    if (parameters) read_parameters_of(*parameters, step);
    add_count(item, samples, "samples", step);
    add_count(item, workers, "parallel", step);
  }

  // A recipe draws one task and has one machine unless it says more.
  void add_count(const Item& item, const std::optional<Item>& given, std::string ours,
                 YamlNode& step) {
    if (given) {
      if (read_integer(scope_, *given, {1, kRecipeCountMax})) add(step, std::move(ours), *given);
    } else if (step.find("params") != nullptr) {
      add_yaml(step, std::move(ours), new_yaml_plain("1", *item.node));
    }
  }

  void read_parameters_of(const Item& item, YamlNode& step) {
    YamlDraft params = new_yaml(YamlNode::Kind::kMap, *item.node);
    if (!item.node->is_map()) return add(step, "params", item);  // Refused where it is read.
    for (const YamlMember& member : item.node->members) {
      const Item at{member.value.get(), item.path_of(shown(member.key->text))};
      if (YamlNodePtr value = parameter_of(at)) params->members.push_back({member.key, value});
    }
    if (!params->members.empty()) add_yaml(step, "params", std::move(params));
  }

  // Null, and a fault, when it cannot be.
  YamlNodePtr parameter_of(const Item& item) {
    if (item.node->is_map()) return explicit_parameter(item);
    if (!item.node->is_scalar()) return shared(item);
    const std::optional<Ends> ends = ends_of(item.node->text);
    return ends ? range_of(*item.node, "uniform", *ends) : shared(item);
  }

  YamlNodePtr explicit_parameter(const Item& item) {
    auto object = ObjectReader::open(scope_, item, recipe_parameter_fields());
    const auto range = object->take("range");
    const auto sampling = object->take("sampling");
    object->done();
    if (!range) {
      scope_.refuse(item, "the parameter has no `range`", shown(*item.node),
                    "write {range: 0-4, sampling: discrete}");
      return nullptr;
    }
    const std::optional<std::string> text = read_verbatim(scope_, *range);
    const auto how = sampling ? read_verbatim(scope_, *sampling) : std::string("uniform");
    if (!text || !how) return nullptr;
    const std::optional<Ends> ends = ends_of(*text);
    if (!ends) {
      scope_.refuse(*range, "'" + shown(*text) + "' is not a range", shown(*text),
                    "write two numbers with a dash between them, such as 0.1-0.3");
      return nullptr;
    }
    if (*how == "discrete") return range_of(*range->node, "range", *ends);
    if (*how == "uniform") return range_of(*range->node, "uniform", *ends);
    scope_.refuse(*sampling, "'" + shown(*how) + "' is not a way of sampling a range", shown(*how),
                  "write discrete or uniform");
    return nullptr;
  }

  void read_hardware(const Item& item, YamlNode& step) {
    auto object = ObjectReader::open(scope_, item, hardware_fields());
    if (!object) return;
    YamlDraft resources = new_yaml(YamlNode::Kind::kMap, *item.node);
    const auto gpu = object->take("gpu");
    const auto count = object->take("gpu_count");
    if (gpu) {
      read_devices(*gpu, count, *resources);
    } else if (count) {
      scope_.refuse(*count, "`gpu_count` needs `gpu`", shown(*count->node), "add gpu: V100");
    }
    if (const auto cpu = object->take("cpu")) read_cpu_count(*cpu, *resources);
    if (const auto spot = object->take("spot")) add(*resources, "spot", *spot);
    if (const auto local = object->take("local")) read_boolean(scope_, *local);
    object->done();
    if (!resources->members.empty()) add_yaml(step, "resources", std::move(resources));
  }

  void read_devices(const Item& gpu, const std::optional<Item>& count, YamlNode& resources) {
    const std::optional<std::string> name = read_verbatim(scope_, gpu);
    if (!name) return;
    const auto device = std::find_if(kDevices.begin(), kDevices.end(),
                                     [&](const Device& each) { return each.name == upper(*name); });
    if (device == kDevices.end()) {
      scope_.refuse(gpu, "'" + shown(*name) + "' is not a device that recipes name", shown(*name),
                    "write K80 or V100");
      return;
    }
    std::int64_t number = 1;
    if (count) number = read_one_of(*count, device->counts).value_or(0);
    if (number == 0) return;
    add_yaml(resources, "accelerators",
             new_yaml_text(std::string(device->name) + ":" + std::to_string(number), *gpu.node));
  }

  void read_cpu_count(const Item& item, YamlNode& resources) {
    if (read_one_of(item, kCpuCounts)) add(resources, "cpus", item);
  }

  template <std::size_t N>
  std::optional<std::int64_t> read_one_of(const Item& item,
                                          const std::array<std::int64_t, N>& counts) {
    const auto count = read_integer(scope_, item, {0, kRecipeCountMax});
    if (!count || std::find(counts.begin(), counts.end(), *count) != counts.end()) return count;
    scope_.refuse(item, "no machine of a recipe has " + std::to_string(*count) + " of these",
                  std::to_string(*count), "write one of " + counts_text(counts));
    return std::nullopt;
  }

  void read_recovery(const Item& item, YamlNode& step) {
    if (!read_boolean(scope_, item).value_or(false)) return;
    YamlDraft retry = new_yaml(YamlNode::Kind::kMap, *item.node);
    add_yaml(*retry, "max", new_yaml_plain(kRecoveryRetries, *item.node));
    add_yaml(step, "retry", std::move(retry));
  }

  void expect_word(const Item& item, std::string_view word) {
    const std::optional<std::string> text = read_verbatim(scope_, item);
    if (!text || *text == word) return;
    scope_.refuse(item, "'" + shown(*text) + "' is not known here", shown(*text),
                  "write " + std::string(word));
  }

  void note(const Item& item, std::string_view what, std::string_view instead) {
    notes_.report(item, Error(Errc::kUnsupported, std::string(what))
                            .with_value(shown(*item.node))
                            .with_hint(std::string(instead)));
  }

  // The same value with the same place, held by the new tree.
  static YamlNodePtr shared(const Item& item) { return std::make_shared<YamlNode>(*item.node); }
  static void add(YamlNode& map, std::string key, const Item& item) {
    add_yaml(map, std::move(key), shared(item));
  }

  Scope scope_;
  Diagnostics& notes_;
};

struct Renamed {
  std::string_view ours;
  std::string_view theirs;
};

constexpr std::array<Renamed, 7> kRenamed = {{
    {"run", "command"},
    {"params", "parameters"},
    {"parallel", "workers"},
    {"retry", "recovery"},
    {"resources.accelerators", "hardware.gpu"},
    {"resources.cpus", "hardware.cpu"},
    {"resources", "hardware"},
}};

}  // namespace

bool is_recipe(const YamlNode& root) {
  return root.is_map() &&
         std::any_of(root.members.begin(), root.members.end(),
                     [](const auto& each) { return each.key->text == "experiments"; });
}

YamlNodePtr job_of_recipe(const YamlNode& recipe, Diagnostics& faults, Diagnostics& notes) {
  YamlNodePtr job = RecipeReader(faults, notes).run(recipe);
  CHECK(job != nullptr || !faults.ok(), "a recipe that gives no job has a fault");
  return job;
}

std::string recipe_field(std::string_view field) {
  constexpr std::string_view kSteps = "steps.";
  if (!field.starts_with(kSteps)) return std::string(field);
  const std::size_t dot = std::min(field.find('.', kSteps.size()), field.size());
  std::string text = "experiments." + std::string(field.substr(kSteps.size(), dot - kSteps.size()));
  const std::string_view rest = field.substr(std::min(dot + 1, field.size()));
  if (rest.empty()) return text;
  for (const Renamed& each : kRenamed) {
    const bool whole = rest == each.ours;
    if (whole || rest.starts_with(std::string(each.ours) + ".")) {
      return text + "." + std::string(each.theirs) + std::string(rest.substr(each.ours.size()));
    }
  }
  return text + "." + std::string(rest);
}

}  // namespace runnel::spec
