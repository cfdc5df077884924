#include "spec/diagnostics.h"

#include <gtest/gtest.h>

namespace runnel::spec {
namespace {

constexpr std::string_view kText = "a: 1\nb: {{x}} {{y}}\n";

YamlNode node_at(std::size_t offset) {
  YamlNode node;
  node.kind = YamlNode::Kind::kScalar;
  node.offset = offset;
  return node;
}

std::vector<std::string> lines_of(Diagnostics& faults) {
  std::vector<std::string> lines;
  for (const Error& error : faults.take()) lines.push_back(error.to_string());
  return lines;
}

TEST(Diagnostics, SortByPlaceNotByTimeOfFinding) {
  Diagnostics faults("f", kText);
  const YamlNode late = node_at(8);
  const YamlNode early = node_at(3);
  faults.report({&late, "b"}, Error(Errc::kInvalid, "late"));
  faults.report({&early, "a"}, Error(Errc::kInvalid, "early"));
  EXPECT_EQ(lines_of(faults), (std::vector<std::string>{"f:1:4: a: early", "f:2:4: b: late"}));
  EXPECT_TRUE(faults.ok()) << "take() leaves nothing behind";
}

TEST(Diagnostics, TellEachFaultOnce) {
  Diagnostics faults("f", kText);
  const YamlNode node = node_at(3);
  for (int i = 0; i < 3; ++i) faults.report({&node, "a"}, Error(Errc::kInvalid, "same"));
  faults.report({&node, "a"}, Error(Errc::kInvalid, "other"));
  EXPECT_EQ(lines_of(faults), (std::vector<std::string>{"f:1:4: a: same", "f:1:4: a: other"}));
}

TEST(Diagnostics, FindAPieceInsideItsScalar) {
  Diagnostics faults("f", kText);
  const YamlNode node = node_at(8);
  faults.report_inside({&node, "b"}, "{{y}}", Error(Errc::kInvalid, "y"));
  faults.report_inside({&node, "b"}, "{{z}}", Error(Errc::kInvalid, "z"));
  EXPECT_EQ(lines_of(faults), (std::vector<std::string>{"f:2:4: b: z", "f:2:10: b: y"}))
      << "a piece that is not found stands where its scalar does";
}

TEST(Diagnostics, AFlagHasANameAndNoPlace) {
  Diagnostics faults("f", "");
  YamlNode node = node_at(8);
  node.flag = "--memory";
  faults.report({&node, "resources.memory"}, Error(Errc::kInvalid, "wrong"));
  EXPECT_EQ(lines_of(faults), (std::vector<std::string>{"--memory: wrong"}));
}

TEST(Diagnostics, KeepOnlySoMany) {
  Diagnostics faults("f", kText);
  const YamlNode node = node_at(0);
  for (std::size_t i = 0; i < 2 * Diagnostics::kErrorsMax; ++i) {
    EXPECT_EQ(faults.full(), i >= Diagnostics::kErrorsMax);
    faults.report({&node, "a"}, Error(Errc::kInvalid, std::to_string(i)));
  }
  EXPECT_EQ(faults.take().size(), Diagnostics::kErrorsMax);
}

TEST(Item, NamesWhatIsInside) {
  const YamlNode node;
  EXPECT_EQ((Item{&node, ""}.path_of("a")), "a");
  EXPECT_EQ((Item{&node, "a"}.path_of("b")), "a.b");
}

}  // namespace
}  // namespace runnel::spec
