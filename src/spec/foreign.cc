#include "spec/foreign.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace runnel::spec {
namespace {

const YamlNode* key_of(const YamlNode& map, std::string_view key) {
  for (const YamlMember& member : map.members) {
    if (member.key->text == key) return member.key.get();
  }
  return nullptr;
}

// A top-level field that no job file of ours has.
struct Marker {
  std::string_view key;
  std::string_view what;
  std::string_view shown;
};

constexpr std::array<Marker, 9> kTopMarkers = {{
    {"framework", "an FfDL manifest", "`framework`"},
    {"learners", "an FfDL manifest", "`learners`"},
    {"data_stores", "an FfDL manifest", "`data_stores`"},
    {"searcher", "a Determined configuration", "`searcher`"},
    {"slots_per_trial", "a Determined configuration", "`slots_per_trial`"},
    {"hyperparameters", "a Determined configuration", "`hyperparameters`"},
    {"checkpoint_storage", "a Determined configuration", "`checkpoint_storage`"},
    {"service", "a SkyPilot service", "`service`"},
    {"services", "a Compose file", "`services`"},
}};

constexpr std::array<std::string_view, 10> kSkyPilotResources = {
    "cloud",     "region",    "zone",  "use_spot", "instance_type",
    "disk_size", "disk_tier", "ports", "image_id", "job_recovery"};

constexpr std::array<std::string_view, 5> kDstackTypes = {"task", "service", "dev-environment",
                                                          "fleet", "volume"};

std::optional<ForeignFile> kubernetes(const YamlNode& root) {
  const bool object = root.find("apiVersion") != nullptr && root.find("kind") != nullptr;
  if (!object) return std::nullopt;
  for (const std::string_view key : {"spec", "metadata"}) {
    if (const YamlNode* at = key_of(root, key)) {
      return ForeignFile{"a Kubernetes object", "`apiVersion`, `kind` and `spec`", at};
    }
  }
  return std::nullopt;
}

std::optional<ForeignFile> dstack(const YamlNode& root) {
  const YamlNode* type = root.find("type");
  if (type == nullptr || !type->is_scalar()) return std::nullopt;
  const bool known =
      std::find(kDstackTypes.begin(), kDstackTypes.end(), type->text) != kDstackTypes.end();
  if (!known) return std::nullopt;
  const YamlNode* at = key_of(root, "type");
  CHECK(at != nullptr, "a value that was found has a key");
  return ForeignFile{"a dstack configuration", "`type`", at};
}

std::optional<ForeignFile> skypilot(const YamlNode& root) {
  const YamlNode* resources = root.find("resources");
  if (resources == nullptr || !resources->is_map()) return std::nullopt;
  for (const std::string_view key : kSkyPilotResources) {
    if (const YamlNode* at = key_of(*resources, key)) {
      return ForeignFile{"a SkyPilot task", "fields such as `resources.cloud`", at};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ForeignFile> recognise_foreign(const YamlNode& root) {
  if (!root.is_map()) return std::nullopt;
  if (auto found = kubernetes(root)) return found;
  if (auto found = dstack(root)) return found;
  for (const Marker& marker : kTopMarkers) {
    if (const YamlNode* at = key_of(root, marker.key)) {
      return ForeignFile{marker.what, marker.shown, at};
    }
  }
  return skypilot(root);
}

std::optional<std::size_t> sbatch_line(std::string_view text) {
  constexpr std::string_view kDirective = "#SBATCH";
  if (!text.starts_with("#!") && !text.starts_with(kDirective)) return std::nullopt;
  if (text.starts_with(kDirective)) return 0;
  const std::size_t found = text.find("\n#SBATCH");
  if (found == std::string_view::npos) return std::nullopt;
  return found + 1;
}

Error foreign_error(std::string_view what, std::string_view marker) {
  return Error(Errc::kUnsupported, "this is " + std::string(what) + " (it has " +
                                       std::string(marker) +
                                       "), and reading those is not in this version")
      .with_value(std::string(marker))
      .with_hint("write it as a job file: name, steps, resources, run");
}

}  // namespace runnel::spec
