#include "spec/schema.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "json/value.h"
#include "spec/fields.h"

namespace runnel::spec {
namespace {

const std::string kGuides = std::string(RUNNEL_SOURCE_DIR) + "/docs/guides/";
constexpr std::string_view kBegin = "<!-- fields: made by spec/schema.cc -->\n";
constexpr std::string_view kEnd = "<!-- fields end -->\n";

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

bool updating() { return std::getenv("UPDATE_GOLDEN") != nullptr; }

TEST(Schema, ThePublishedFileIsTheTables) {
  const std::string path = kGuides + "job-file.schema.json";
  if (updating()) std::ofstream(path, std::ios::binary) << job_file_schema();
  EXPECT_EQ(read_file(path), job_file_schema()) << "run once with UPDATE_GOLDEN=1";
}

TEST(Schema, TheGuideHoldsTheTables) {
  const std::string path = kGuides + "job-file.md";
  const std::string text = read_file(path);
  const std::size_t begin = text.find(kBegin);
  const std::size_t end = text.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const std::size_t from = begin + kBegin.size();
  const std::string wanted = "\n" + job_file_reference();
  if (updating()) {
    std::ofstream(path, std::ios::binary) << text.substr(0, from) << wanted << text.substr(end);
  }
  EXPECT_EQ(read_file(path).substr(from, wanted.size()), wanted) << "run once with UPDATE_GOLDEN=1";
}

TEST(Schema, NamesEveryBuiltFieldAndNoOther) {
  const json::Value schema = MUST(json::parse(job_file_schema()));
  const json::Value* properties = schema.find("properties");
  ASSERT_NE(properties, nullptr);
  std::set<std::string> expected;
  for (const Field& field : top_fields().fields) {
    if (field.built == Built::kNotYet) continue;
    expected.emplace(field.name);
    if (!field.aliases[0].empty()) expected.emplace(field.aliases[0]);
  }
  std::set<std::string> seen;
  for (const auto& [name, value] : properties->as_object()) {
    seen.insert(name);
    EXPECT_NE(value.find("description"), nullptr) << name;
  }
  EXPECT_EQ(seen, expected);
}

TEST(Fields, NoSpellingIsUsedTwice) {
  for (const FieldTable* table :
       {&top_fields(), &resource_fields(), &retry_fields(), &checkpoint_fields(),
        &parameter_fields(), &node_fields(), &nodes_file_fields()}) {
    std::set<std::string_view> spellings;
    for (const Field& field : table->fields) {
      EXPECT_TRUE(spellings.insert(field.name).second) << field.name;
      if (!field.aliases[0].empty()) {
        EXPECT_TRUE(spellings.insert(field.aliases[0]).second) << field.aliases[0];
      }
      EXPECT_TRUE(field.doc.ends_with('.')) << field.name;
    }
  }
}

TEST(Fields, AreFoundByEachSpelling) {
  EXPECT_EQ(step_fields().find("needs")->name, "depends_on");
  EXPECT_EQ(step_fields().find("workers")->name, "parallel");
  EXPECT_EQ(step_fields().find(""), nullptr);
  EXPECT_EQ(step_fields().find("steps"), nullptr);
  EXPECT_EQ(job_fields().find("steps")->name, "steps");
  EXPECT_EQ(our_word_for("gpus"), "resources.accelerators");
  EXPECT_EQ(our_word_for("nonsense"), "");
}

}  // namespace
}  // namespace runnel::spec
