#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/spec.h"
#include "spec/scope.h"

namespace runnel::spec {

// A value with a place, which a later step may still replace.
struct PlacedText {
  std::string text;
  Item item;
  bool missing = false;  // An empty variable of the file: must be given at launch.
};

// A step while it is read: what the model holds, and the places that later checks will name.
struct StepDraft {
  model::StepSpec spec;
  Item item;                     // The step's key, or the whole file when it is one step.
  std::vector<Item> depends_on;  // The names, as written.
  std::map<std::string, PlacedText> envs;
  std::map<std::string, PlacedText> secrets;        // Sources by variable.
  std::map<std::string, model::VolumeUse> volumes;  // By name.
  std::optional<Item> params;
  std::optional<Item> resources;
  std::optional<Item> num_nodes;
  std::optional<Item> procs_per_node;
  std::optional<Item> straggler;
  bool cpus_given = false;
};

// Reads `envs` into the draft and into the variables that `${NAME}` may use. First of all fields.
void read_envs(Scope& scope, const Item& item, StepDraft& draft);
// Reads the fields that may also stand at the top as defaults (Spread::kDefault) but for `envs`.
void read_spread_fields(Scope& scope, ObjectReader& object, StepDraft& draft);
// Reads the fields that belong to one step alone (Spread::kOwn).
void read_own_fields(Scope& scope, ObjectReader& object, StepDraft& draft);

void read_secrets(Scope& scope, const Item& item, StepDraft& draft);
void read_volumes(Scope& scope, const Item& item, StepDraft& draft);
void read_resources(Scope& scope, const Item& item, StepDraft& draft);
void read_retry(Scope& scope, const Item& item, StepDraft& draft);
void read_checkpoint(Scope& scope, const Item& item, StepDraft& draft);

}  // namespace runnel::spec
