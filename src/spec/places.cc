#include "spec/places.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/shown.h"
#include "spec/fields.h"

namespace runnel::spec {
namespace {

struct Synonym {
  std::string_view field;
  std::string_view written;
};

// The words of files for fields of the model.
constexpr std::array<Synonym, 4> kFileWords = {{{"backoff_max", "backoff"},
                                                {"backoff_min", "backoff"},
                                                {"budget_micros", "budget"},
                                                {"factor_permille", "factor"}}};

// The fields that stand in the file where the field itself does not.
constexpr std::array<Synonym, 9> kStandIns = {{{"params", "foreach"},
                                               {"params", "search"},
                                               {"objectives", "metric"},
                                               {"low", "range"},
                                               {"low", "uniform"},
                                               {"low", "loguniform"},
                                               {"high", "range"},
                                               {"high", "uniform"},
                                               {"high", "loguniform"}}};

// "steps[2].run" as {"steps", "2", "run"}, in the words of the file.
std::vector<std::string> words_of(std::string_view path) {
  std::vector<std::string> words;
  while (!path.empty()) {
    const std::size_t end = std::min(path.find_first_of(".[]"), path.size());
    const std::string_view word = path.substr(0, end);
    const auto other = std::ranges::find(kFileWords, word, &Synonym::field);
    if (!word.empty()) words.emplace_back(other == kFileWords.end() ? word : other->written);
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return words;
}

std::size_t position_of(std::string_view word, std::size_t none) {
  std::size_t position = none;
  const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), position);
  return code == std::errc() && end == word.data() + word.size() ? position : none;
}

// By its name, or by another spelling of it; null when there is none.
const YamlMember* member_of(const YamlNode& node, std::string_view name) {
  const auto found = std::ranges::find_if(node.members, [&](const YamlMember& member) {
    const Field* field = step_fields().find(name);
    return member.key->text == name || (field != nullptr && !field->aliases[0].empty() &&
                                        field->aliases[0] == member.key->text);
  });
  return found == node.members.end() ? nullptr : &*found;
}

// A field on the way down: what stands there, and how much of the path led to it.
struct Stop {
  Item item;
  const YamlNode* inside = nullptr;
  std::size_t words = 0;

  bool step_into(const std::string& word) {
    if (const YamlMember* member = member_of(*inside, word)) {
      inside = member->value.get();
      item = {inside, item.path_of(member->key->text)};
      return true;
    }
    const std::size_t at = position_of(word, inside->items.size());
    if (at >= inside->items.size()) return false;
    inside = inside->items[at].get();
    item = {inside, item.path_of(word)};
    return true;
  }
};

Stop walk(Stop stop, const std::vector<std::string>& words) {
  for (; stop.words < words.size(); ++stop.words) {
    const std::string& word = words[stop.words];
    if (stop.step_into(word)) continue;
    for (const auto& [field, written] : kStandIns) {
      if (field == word && stop.step_into(std::string(written))) return stop;
    }
    return stop;
  }
  return stop;
}

// A fault, and where it stands.
struct Placed {
  Error fault;
  Item item;
  std::string path;  // The path of the whole field, whether it is written or not.
  std::string step;  // The step that has the fault, when it stands at the default of all.
};

std::string joined(std::string path, const std::vector<std::string>& words, std::size_t from) {
  for (std::size_t i = from; i < words.size(); ++i) path += (path.empty() ? "" : ".") + words[i];
  return path;
}

// The step that the path begins with, and its name as shown; null when the file has one step, whose
// fields stand at the top.
const YamlMember* step_of(const YamlNode& root, const std::vector<std::string>& words) {
  const YamlNode* steps = root.find("steps");
  if (steps == nullptr || words.size() < 2 || words[0] != "steps") return nullptr;
  if (const YamlMember* named = member_of(*steps, words[1])) return named;
  const std::size_t at = position_of(words[1], steps->members.size());
  return at < steps->members.size() ? &steps->members[at] : nullptr;
}

bool is_default(const std::string& word) {
  const Field* field = step_fields().find(word);
  return field != nullptr && field->spread == Spread::kDefault;
}

// Those of a step join those of the job, and do not hide them.
bool is_merged(const std::string& word) {
  return word == "envs" || word == "secrets" || word == "volumes";
}

Placed in_step(const YamlNode& root, const YamlMember& step, std::vector<std::string> words,
               Error fault) {
  const std::string name = shown(step.key->text);
  words.erase(words.begin(), words.begin() + 2);
  const std::string path = "steps." + name;
  const Stop own = walk({{step.key.get(), path}, step.value.get()}, words);
  const bool spread = !words.empty() && is_default(words[0]) &&
                      (own.words == 0 || (is_merged(words[0]) && own.words < words.size()));
  if (spread) {
    const Stop common = walk({{&root, ""}, &root}, words);
    if (common.words > own.words) {
      return {std::move(fault), common.item, joined(path, words, 0), name};
    }
  }
  return {std::move(fault), own.item, joined(path, words, 0), ""};
}

Placed place(const YamlNode& root, Error fault) {
  std::vector<std::string> words = words_of(fault.field);
  if (const YamlMember* step = step_of(root, words)) {
    return in_step(root, *step, std::move(words), std::move(fault));
  }
  const bool one_step = words.size() > 1 && words[0] == "steps" && root.find("steps") == nullptr;
  if (one_step) words.erase(words.begin(), words.begin() + 2);
  return {std::move(fault), walk({{&root, ""}, &root}, words).item, joined("", words, 0), ""};
}

// A reference as far as it is shown; empty when the fault is about something else.
std::string_view reference_of(const Error& fault) {
  std::string_view value = fault.value;
  if (!value.starts_with("{{")) return {};
  if (value.ends_with("...")) value.remove_suffix(3);
  return value;
}

// The element of a list that the fault is about, if one is.
Item element_of(const Item& item, const Error& fault) {
  const std::string_view reference = reference_of(fault);
  for (std::size_t i = 0; i < item.node->items.size(); ++i) {
    const std::string& text = item.node->items[i]->text;
    const bool meant =
        reference.empty() ? text == fault.value : text.find(reference) != std::string::npos;
    if (meant) return {item.node->items[i].get(), item.path_of(std::to_string(i))};
  }
  return item;
}

void keep(Placed placed, Diagnostics& diagnostics) {
  const Item item = element_of(placed.item, placed.fault);
  const std::string reference(reference_of(placed.fault));
  if (reference.empty()) return diagnostics.report(item, std::move(placed.fault));
  diagnostics.report_inside(item, reference, std::move(placed.fault));
}

// A fault of the default itself is that of every step, and is told once; one that only some steps
// have says which.
void tell_steps(std::vector<Placed>& faults, std::size_t steps) {
  std::map<std::pair<std::string, std::string>, std::size_t> counts;
  for (const Placed& each : faults) ++counts[{each.item.path, each.fault.message}];
  for (Placed& each : faults) {
    const bool all = counts[{each.item.path, each.fault.message}] == steps;
    if (!each.step.empty() && !all) each.fault.message += " in step '" + each.step + "'";
  }
}

}  // namespace

void report_at_places(const YamlNode& root, std::vector<Error> faults, Diagnostics& diagnostics) {
  std::vector<Placed> placed;
  for (Error& fault : faults) {
    Placed each = place(root, std::move(fault));
    const bool refused = diagnostics.has_refused(each.path) ||
                         (!each.step.empty() && diagnostics.has_refused(each.item.path));
    if (!refused) placed.push_back(std::move(each));
  }
  const YamlNode* steps = root.find("steps");
  tell_steps(placed, steps == nullptr ? 1 : steps->members.size());
  for (Placed& each : placed) keep(std::move(each), diagnostics);
}

}  // namespace runnel::spec
