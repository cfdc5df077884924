#include "spec/yaml_build.h"

#include <utility>

#include "base/check.h"

namespace runnel::spec {

YamlDraft new_yaml(YamlNode::Kind kind, const YamlNode& origin) {
  auto node = std::make_shared<YamlNode>();
  node->kind = kind;
  node->offset = origin.offset;
  node->flag = origin.flag;
  return node;
}

YamlDraft new_yaml_text(std::string text, const YamlNode& origin) {
  YamlDraft node = new_yaml(YamlNode::Kind::kScalar, origin);
  node->quoted = true;
  node->text = std::move(text);
  return node;
}

YamlDraft new_yaml_plain(std::string text, const YamlNode& origin) {
  YamlDraft node = new_yaml(YamlNode::Kind::kScalar, origin);
  node->text = std::move(text);
  return node;
}

void add_yaml(YamlNode& map, std::string key, YamlNodePtr value) {
  CHECK(map.is_map(), "only a mapping has members");
  YamlDraft name = new_yaml_text(std::move(key), *value);
  map.members.push_back({std::move(name), std::move(value)});
}

}  // namespace runnel::spec
