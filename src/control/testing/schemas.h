#pragma once

#include <string>

#include "json/value.h"

namespace runnel::control::testing {

// Where a document is not as its schema says; empty when it is. A member that no schema names is a
// fault as well: an answer is described whole.
class Schemas {
 public:
  explicit Schemas(const json::Value& openapi)
      : all_(*openapi.find("components")->find("schemas")) {}

  std::string fault(const json::Value& value, const json::Value& schema,
                    const std::string& path) const {
    if (const json::Value* reference = schema.find("$ref")) {
      const std::string name = reference->as_text().substr(reference->as_text().rfind('/') + 1);
      const json::Value* meant = all_.find(name);
      return meant == nullptr ? path + ": no schema " + name : fault(value, *meant, path);
    }
    const json::Value* type = schema.find("type");
    if (type == nullptr) return "";
    if (!fits(value, *type)) return path + ": not " + type->dump() + " but " + value.dump();
    if (value.is_object()) return member_fault(value, schema, path);
    if (!value.is_list()) return "";
    for (const json::Value& item : value.as_list()) {
      const std::string wrong = fault(item, *schema.find("items"), path + "[]");
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

 private:
  static std::string kind_of(const json::Value& value) {
    if (value.is_object()) return "object";
    if (value.is_list()) return "array";
    if (value.is_text()) return "string";
    if (value.is_int()) return "integer";
    if (value.is_null()) return "null";
    const std::string text = value.dump();
    return text == "true" || text == "false" ? "boolean" : "number";
  }
  static bool fits(const json::Value& value, const json::Value& type) {
    const std::string types = type.dump();
    const std::string kind = kind_of(value);
    return types.find('"' + kind + '"') != std::string::npos ||
           (kind == "integer" && types.find("number") != std::string::npos);
  }
  std::string member_fault(const json::Value& value, const json::Value& schema,
                           const std::string& path) const {
    const json::Value* any = schema.find("additionalProperties");
    const json::Value* known = schema.find("properties");
    if (const json::Value* required = schema.find("required")) {
      for (const json::Value& name : required->as_list()) {
        if (value.find(name.as_text()) == nullptr) return path + ": lacks " + name.as_text();
      }
    }
    for (const auto& [name, member] : value.as_object()) {
      const json::Value* of = known == nullptr ? nullptr : known->find(name);
      if (of == nullptr) of = any;
      if (of == nullptr) return path + ": " + name + " is not described";
      const std::string wrong = fault(member, *of, path + "." + name);
      if (!wrong.empty()) return wrong;
    }
    return "";
  }

  json::Value all_;
};

}  // namespace runnel::control::testing
