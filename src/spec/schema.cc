#include "spec/schema.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "json/value.h"
#include "spec/fields.h"

namespace runnel::spec {
namespace {

using json::Value;

Value object_of(const FieldTable& table);

Value typed(std::string_view type) {
  return Value::object({{"type", Value::text(std::string(type))}});
}

Value any_type(const std::vector<std::string_view>& types) {
  Value::List names;
  for (const std::string_view type : types) names.push_back(Value::text(std::string(type)));
  return Value::object({{"type", Value::list(std::move(names))}});
}

Value scalar() { return any_type({"string", "number", "boolean"}); }

Value list_of(Value items) {
  return Value::object({{"type", Value::text("array")},
                        {"items", std::move(items)},
                        {"minItems", Value::integer(1)}});
}

Value map_of(Value values) {
  return Value::object(
      {{"type", Value::text("object")}, {"additionalProperties", std::move(values)}});
}

Value either(Value::List choices) {
  return Value::object({{"anyOf", Value::list(std::move(choices))}});
}

Value pair() {
  Value value = list_of(any_type({"number", "string"}));
  value.set("minItems", Value::integer(2));
  value.set("maxItems", Value::integer(2));
  return value;
}

Value natural() {
  return either({Value::object({{"type", Value::text("integer")}, {"minimum", Value::integer(0)}}),
                 typed("string")});
}

// A pattern by itself, or a mapping.
Value pattern() { return either({typed("string"), object_of(log_pattern_fields())}); }

Value patterns() { return either({typed("string"), list_of(pattern())}); }

Value schema_of(Form form) {
  switch (form) {
    case Form::kText: return typed("string");
    case Form::kBoolean: return typed("boolean");
    case Form::kInteger: return any_type({"integer", "string"});
    case Form::kNatural: return natural();
    case Form::kIntegers: return either({typed("integer"), list_of(typed("integer"))});
    case Form::kCpus:
    case Form::kBytes:
    case Form::kMoney: return any_type({"number", "string"});
    case Form::kDuration:
    case Form::kDurations: return typed("string");
    case Form::kTexts: return either({typed("string"), list_of(typed("string"))});
    case Form::kLines: return either({scalar(), list_of(scalar())});
    case Form::kArguments:
    case Form::kValues: return list_of(scalar());
    case Form::kPair: return pair();
    case Form::kTextMap: return map_of(any_type({"string", "number", "boolean", "null"}));
    case Form::kSecrets: return either({list_of(typed("string")), map_of(typed("string"))});
    case Form::kVolumes: return map_of(either({typed("string"), object_of(volume_fields())}));
    case Form::kAccelerators:
      return either({typed("string"), map_of(any_type({"integer", "string"}))});
    case Form::kParameters:
      return map_of(either({scalar(), list_of(scalar()), object_of(parameter_fields())}));
    case Form::kResources: return object_of(resource_fields());
    case Form::kRetry: return object_of(retry_fields());
    case Form::kCheckpoint: return object_of(checkpoint_fields());
    case Form::kHealth: return object_of(health_fields());
    case Form::kHang: return object_of(hang_fields());
    case Form::kNan: return either({typed("string"), object_of(nan_fields())});
    case Form::kStraggler: return either({typed("string"), object_of(straggler_fields())});
    case Form::kSearch: return object_of(search_fields());
    case Form::kPopulation: return object_of(population_fields());
    case Form::kPruner: return either({typed("string"), object_of(pruner_fields())});
    case Form::kMetrics: return object_of(metric_source_fields());
    case Form::kLogPatterns:
      return either({patterns(), object_of(log_pattern_fields()),
                     map_of(either({patterns(), object_of(log_pattern_fields())}))});
    case Form::kModes: return map_of(typed("string"));
    case Form::kCondition: return map_of(either({scalar(), list_of(scalar())}));
    case Form::kPoints: return list_of(map_of(scalar()));
    case Form::kEarlier: return list_of(object_of(earlier_fields()));
    case Form::kSteps: return map_of(object_of(step_fields()));
    case Form::kNodes: return list_of(object_of(node_fields()));
    case Form::kAny: break;
  }
  return Value::object();
}

Value object_of(const FieldTable& table) {
  Value properties = Value::object();
  for (const Field& field : table.fields) {
    if (field.built == Built::kNotYet) continue;
    CHECK(field.form != Form::kAny, "a field that is built says how it is written");
    CHECK(!field.doc.empty(), "a field that is built says what it means");
    Value schema = schema_of(field.form);
    schema.set("description", Value::text(std::string(field.doc)));
    for (const std::string_view alias : field.aliases) {
      if (!alias.empty()) properties.set(std::string(alias), schema);
    }
    properties.set(std::string(field.name), std::move(schema));
  }
  return Value::object({{"type", Value::text("object")},
                        {"properties", std::move(properties)},
                        {"additionalProperties", Value::boolean(false)}});
}

std::string_view written(Form form) {
  switch (form) {
    case Form::kText: return "text";
    case Form::kBoolean: return "`true`, `false`";
    case Form::kInteger:
    case Form::kNatural: return "whole number";
    case Form::kIntegers: return "number, or list";
    case Form::kCpus: return "`0.5`, `16`, `16+`";
    case Form::kBytes: return "`24GB`, `24GiB`";
    case Form::kDuration: return "`90s`, `1h30m`";
    case Form::kDurations: return "`30s`, `30s..10m`";
    case Form::kMoney: return "`2.5`";
    case Form::kTexts: return "text, or list";
    case Form::kLines: return "script, or list of lines";
    case Form::kArguments: return "list of texts";
    case Form::kValues: return "list";
    case Form::kPair: return "`[low, high]`";
    case Form::kTextMap: return "`{NAME: value}`";
    case Form::kSecrets: return "list, or `{NAME: env:X}`";
    case Form::kVolumes: return "`{name: volume}`, or `{name: mapping}`";
    case Form::kAccelerators: return "`H100:8`, `{H100: 8}`";
    case Form::kParameters: return "`{name: values}`";
    case Form::kResources:
    case Form::kRetry:
    case Form::kCheckpoint:
    case Form::kHealth:
    case Form::kHang:
    case Form::kSearch:
    case Form::kMetrics:
    case Form::kPopulation:
    case Form::kSteps: return "mapping";
    case Form::kLogPatterns: return "pattern, list, or mapping";
    case Form::kPruner: return "name, or mapping";
    case Form::kNan:
    case Form::kStraggler: return "action, or mapping";
    case Form::kModes: return "`{metric: max}`";
    case Form::kCondition: return "`{parameter: value}`";
    case Form::kPoints:
    case Form::kEarlier:
    case Form::kNodes: return "list of mappings";
    case Form::kAny: break;
  }
  return "";
}

std::string name_cell(const Field& field) {
  std::string cell = "`" + std::string(field.name) + "`";
  if (!field.aliases[0].empty()) cell += " (`" + std::string(field.aliases[0]) + "`)";
  return cell;
}

std::string table_text(std::string_view title, const FieldTable& table) {
  std::string text =
      "### " + std::string(title) + "\n\n| field | written | meaning |\n|---|---|---|\n";
  std::string planned;
  for (const Field& field : table.fields) {
    if (field.built == Built::kNotYet) {
      planned += (planned.empty() ? "`" : ", `") + std::string(field.name) + "`";
      continue;
    }
    text += "| " + name_cell(field) + " | ";
    text.append(written(field.form)).append(" | ").append(field.doc).append(" |\n");
  }
  if (!planned.empty()) text += "\nKnown, and refused by name in this version: " + planned + ".\n";
  return text + "\n";
}

}  // namespace

std::string job_file_schema() {
  Value schema = object_of(top_fields());
  schema.set("$schema", Value::text("https://json-schema.org/draft/2020-12/schema"));
  schema.set("title", Value::text("Runnel job file"));
  return schema.dump_pretty() + "\n";
}

std::string job_file_reference() {
  return table_text("The file", job_fields()) + table_text("A step", step_fields()) +
         table_text("`resources`", resource_fields()) + table_text("`retry`", retry_fields()) +
         table_text("`checkpoint`", checkpoint_fields()) +
         table_text("A volume's mapping", volume_fields()) +
         table_text("`metrics`", metric_source_fields()) +
         table_text("A pattern of `metrics.log`", log_pattern_fields()) +
         table_text("`health`", health_fields()) + table_text("`health.hang`", hang_fields()) +
         table_text("`health.nan`", nan_fields()) +
         table_text("`health.straggler`", straggler_fields()) +
         table_text("A parameter's mapping", parameter_fields()) +
         table_text("`search`", search_fields()) + table_text("`pruner`", pruner_fields()) +
         table_text("`population`", population_fields()) +
         table_text("A node of `nodes.yaml`", node_fields());
}

}  // namespace runnel::spec
