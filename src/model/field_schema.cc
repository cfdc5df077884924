#include "model/field_schema.h"

namespace runnel::model::detail {

json::Value typed_schema(std::string_view type) {
  json::Value schema = json::Value::object();
  schema.set("type", json::Value::text(std::string(type)));
  return schema;
}

json::Value list_schema(json::Value items) {
  json::Value schema = typed_schema("array");
  schema.set("items", std::move(items));
  return schema;
}

json::Value members_schema(json::Value member) {
  json::Value schema = typed_schema("object");
  schema.set("additionalProperties", std::move(member));
  return schema;
}

json::Value number_schema(const Number& rule) {
  CHECK(rule.min <= rule.max, "a number without a value");
  json::Value schema = typed_schema("integer");
  schema.set("default", json::Value::integer(rule.fallback));
  if (rule.max != kInteger64Max) schema.set("maximum", json::Value::integer(rule.max));
  if (rule.min != kInteger64Min) schema.set("minimum", json::Value::integer(rule.min));
  return schema;
}

json::Value SchemaMaker::schema() const {
  json::Value schema = typed_schema("object");
  schema.set("properties", properties_);
  if (!required_.empty()) schema.set("required", json::Value::list(required_));
  return schema;
}

}  // namespace runnel::model::detail
