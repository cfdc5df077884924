#include "model/field_schema.h"

#include <gtest/gtest.h>

#include "model/spec_records.h"

namespace runnel::model {
namespace {

const json::Value& property(const json::Value& schema, std::string_view name) {
  const json::Value* found = schema.find("properties")->find(name);
  return found == nullptr ? schema : *found;
}

TEST(FieldSchema, FollowsTheFieldsOfARecord) {
  const json::Value schema = schema_of<JobSpec>();
  EXPECT_EQ(schema.find("type")->as_text(), "object");
  EXPECT_EQ(schema.find("required")->dump(), R"(["steps"])");
  EXPECT_EQ(property(schema, "name").dump(), R"({"type":"string"})");
  EXPECT_EQ(property(schema, "priority").dump(), R"({"default":0,"type":"integer"})");
}

TEST(FieldSchema, PairsAreMembersOfAnyName) {
  EXPECT_EQ(property(schema_of<JobSpec>(), "environment").dump(),
            R"({"additionalProperties":{"type":"string"},"type":"object"})");
}

TEST(FieldSchema, RecordsStandInRecords) {
  const json::Value schema = schema_of<JobSpec>();
  const json::Value& step = *property(schema, "steps").find("items");
  EXPECT_EQ(property(step, "command").dump(), R"({"items":{"type":"string"},"type":"array"})");
  EXPECT_EQ(property(step, "whole_node").dump(), R"({"type":"boolean"})");
  const json::Value& search = property(step, "search");
  EXPECT_EQ(property(search, "method").dump(), R"({"type":"string"})") << "words are text";
  EXPECT_EQ(property(search, "pruner").find("type")->as_text(), "object") << "an optional record";
}

TEST(FieldSchema, CountsByNameAreMembersWithANumber) {
  const json::Value accelerators = property(schema_of<Resources>(), "accelerators");
  EXPECT_EQ(accelerators.find("type")->as_text(), "object");
  EXPECT_EQ(accelerators.find("additionalProperties")->find("type")->as_text(), "integer");
}

TEST(FieldSchema, NumbersHaveTheirLimits) {
  EXPECT_EQ(detail::number_schema({.min = 1, .max = 9, .fallback = 3}).dump(),
            R"({"default":3,"maximum":9,"minimum":1,"type":"integer"})");
  EXPECT_EQ(detail::number_schema(kAnyNumber).dump(), R"({"default":0,"type":"integer"})");
}

TEST(FieldSchema, ARecordWithoutMustsRequiresNothing) {
  EXPECT_EQ(schema_of<Resources>().find("required"), nullptr);
}

TEST(FieldSchema, ValuesOfEachKindHaveTheirType) {
  EXPECT_EQ(schema_of<std::vector<bool>>().dump(),
            R"({"items":{"type":"boolean"},"type":"array"})");
  EXPECT_EQ(schema_of<std::optional<Duration>>().dump(), R"({"type":"integer"})");
  EXPECT_EQ(schema_of<JobId>().dump(), R"({"type":"string"})");
  const json::Value pair = schema_of<std::pair<std::string, std::int64_t>>();
  EXPECT_EQ(pair.dump(), R"({"items":{},"type":"array"})");
}

}  // namespace
}  // namespace runnel::model
