#include "control/api/openapi.h"

#include <string>
#include <utility>

#include "base/ascii_case.h"
#include "base/check.h"
#include "control/api/schemas.h"
#include "http/event_stream.h"

namespace runnel::control {
namespace {

using json::Value;

// {"name": "id", "in": "path", ...} for each {name} of a path.
Value::List path_parameters(std::string_view path) {
  Value::List list;
  for (std::size_t open = path.find('{'); open != std::string_view::npos;
       open = path.find('{', open + 1)) {
    const std::size_t close = path.find('}', open);
    CHECK(close != std::string_view::npos, "a route's parameter is not closed");
    Value schema = Value::object();
    schema.set("type", Value::text("string"));
    Value parameter = Value::object();
    parameter.set("in", Value::text("path"));
    parameter.set("name", Value::text(std::string(path.substr(open + 1, close - open - 1))));
    parameter.set("required", Value::boolean(true));
    parameter.set("schema", std::move(schema));
    list.push_back(std::move(parameter));
  }
  return list;
}

Value text_type() {
  Value schema = Value::object();
  schema.set("type", Value::text("string"));
  return schema;
}

Value header_parameter(std::string_view name) {
  Value parameter = Value::object();
  parameter.set("in", Value::text("header"));
  parameter.set("name", Value::text(std::string(name)));
  parameter.set("required", Value::boolean(false));
  parameter.set("schema", text_type());
  return parameter;
}

Value parameters_document(const std::string& path, const Route& route) {
  CHECK(route.parameters != nullptr, "a route whose parameters nobody knows");
  Value::List all = path_parameters(path);
  for (Value& parameter : route.parameters()) all.push_back(std::move(parameter));
  for (const std::string_view name : route.operation.headers) {
    all.push_back(header_parameter(name));
  }
  return Value::list(std::move(all));
}

void add_content(Value& content, std::string_view type, Value schema) {
  CHECK(content.find(type) == nullptr, "a body is described twice");
  Value media = Value::object();
  media.set("schema", std::move(schema));
  content.set(std::string(type), std::move(media));
}

Value reference_to(std::string_view shape) {
  Value reference = Value::object();
  reference.set("$ref", Value::text("#/components/schemas/" + std::string(shape)));
  return reference;
}

// Each line of a stream, or the data of each event, is such a document.
Value answer_content(const Operation& operation) {
  Value content = Value::object();
  if (!operation.answer.empty()) {
    add_content(content, "application/json", reference_to(operation.answer));
  }
  if (!operation.stream.empty()) {
    add_content(content, http::kJsonLinesType, reference_to(operation.stream));
    add_content(content, http::kEventStreamType, text_type());
  }
  for (const std::string_view type : operation.other_streams) {
    add_content(content, type, text_type());
  }
  return content;
}

Value responses_document(const Operation& operation) {
  Value success = Value::object();
  success.set("content", answer_content(operation));
  success.set("description", Value::text("The answer"));
  Value content = Value::object();
  add_content(content, "application/problem+json", reference_to("Problem"));
  Value failure = Value::object();
  failure.set("content", std::move(content));
  failure.set("description", Value::text("A problem document (RFC 9457)"));
  Value out = Value::object();
  out.set("2XX", std::move(success));
  out.set("default", std::move(failure));
  return out;
}

Value body_document(const Operation& operation) {
  Value content = Value::object();
  add_content(content, "application/json", reference_to(operation.body));
  for (const std::string_view type : operation.other_bodies) {
    add_content(content, type, text_type());
  }
  Value body = Value::object();
  body.set("content", std::move(content));
  return body;
}

}  // namespace

void OpenApi::add(const std::string& path, const Route& route) {
  const Operation& operation = route.operation;
  CHECK(!operation.summary.empty(), "an operation that nobody explains");
  CHECK(!operation.answer.empty() || !operation.stream.empty(), "an operation without an answer");
  Value document = Value::object();
  document.set("parameters", parameters_document(path, route));
  if (!operation.body.empty()) document.set("requestBody", body_document(operation));
  document.set("responses", responses_document(operation));
  document.set("summary", Value::text(std::string(operation.summary)));
  const Value* known = paths_.find(path);
  Value item = known != nullptr ? *known : Value::object();
  item.set(to_lower(http::to_string(operation.method)), std::move(document));
  CHECK(known == nullptr || known->find(to_lower(http::to_string(operation.method))) == nullptr,
        "an operation is described twice");
  paths_.set(path, std::move(item));
}

Value OpenApi::document(const std::string& version) const {
  Value components = Value::object();
  components.set("schemas", api_schemas());
  Value info = Value::object();
  info.set("title", Value::text("Runnel"));
  info.set("version", Value::text(version));
  Value out = Value::object();
  out.set("components", std::move(components));
  out.set("info", std::move(info));
  out.set("openapi", Value::text("3.1.0"));
  out.set("paths", paths_);
  return out;
}

}  // namespace runnel::control
