#include "spec/yaml_writer.h"

#include <gtest/gtest.h>

namespace runnel::spec {
namespace {

std::string shape_of(const YamlNode& node) {
  if (node.is_null()) return "null";
  if (node.is_scalar()) return "'" + node.text + "'";
  std::string out = node.is_map() ? "{" : "[";
  for (const YamlNodePtr& item : node.items) out += shape_of(*item) + ",";
  for (const YamlMember& member : node.members) {
    out += shape_of(*member.key) + ":" + shape_of(*member.value) + ",";
  }
  return out + (node.is_map() ? "}" : "]");
}

std::string written(std::string_view text) { return write_yaml(*MUST(read_yaml(text, "f"))); }

TEST(YamlWriter, LaysOutAsAPersonWould) {
  EXPECT_EQ(written("{name: a, steps: {x: {run: [echo 1, 'echo: 2'], params: {lr: [0.1, 0.2]}}}}"),
            "name: a\nsteps:\n  x:\n    run: [echo 1, \"echo: 2\"]\n    params:\n      lr: [0.1, "
            "0.2]\n");
  EXPECT_EQ(written("run: \"a\\nb\\n\""), "run: |\n  a\n  b\n");
}

TEST(YamlWriter, IsReadBackToTheSame) {
  for (const char* text : {"a: 1",
                           "[]",
                           "{}",
                           "a: {}",
                           "a: []",
                           "a: null",
                           "a: ''",
                           "a: 'no'",
                           "a: '010'",
                           "a: \"x\\ty\"",
                           "a: \"l1\\n l2\\n\"",
                           "a: \"l1\\nl2\"",
                           "a: \"\\nl\"",
                           "a: \"l\\n\\n\"",
                           "a: \" l\\nm\"",
                           "a: [x, [y, {z: 1}]]",
                           "a: ['x, y', z]",
                           "a: ['[', ']']",
                           "a: {b: {c: [{d: 1, e: [2]}]}}",
                           "'a: b': 1",
                           "a: \"#x\"",
                           "a: \"\xc3\xa9\""}) {
    const YamlNodePtr once = MUST(read_yaml(text, "f"));
    const std::string out = write_yaml(*once);
    const auto again = read_yaml(out, "f");
    ASSERT_TRUE(again.ok()) << text << "\n" << out;
    EXPECT_EQ(shape_of(**again), shape_of(*once)) << out;
  }
}

}  // namespace
}  // namespace runnel::spec
