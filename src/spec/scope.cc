#include "spec/scope.h"

#include <algorithm>

#include "base/check.h"
#include "base/nearest.h"

namespace runnel::spec {
namespace {

// Our name in this mapping for a word of another system, or "" when it means nothing here.
std::string translated(std::string_view spelling, const FieldTable& table) {
  const std::string_view ours = our_word_for(spelling);
  const std::size_t dot = ours.find('.');
  if (dot != std::string_view::npos && table.find(ours.substr(dot + 1)) != nullptr) {
    return std::string(ours.substr(dot + 1));
  }
  return table.find(ours.substr(0, dot)) == nullptr ? std::string() : std::string(ours);
}

}  // namespace

std::string shown(const YamlNode& node) {
  return node.is_scalar() ? shown(node.text) : std::string(kind_name(node));
}

std::string template_literal(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const bool pair = text.starts_with("{{");
    out += pair ? "{{{{" : text.substr(0, 1);
    text.remove_prefix(pair ? 2 : 1);
  }
  return out;
}

void Scope::refuse(const Item& item, std::string message, std::string value,
                   std::string hint) const {
  faults.report(item, Error(Errc::kInvalid, std::move(message))
                          .with_value(std::move(value))
                          .with_hint(std::move(hint)));
}

ObjectReader::ObjectReader(Scope& scope, Item item, const FieldTable& table)
    : scope_(scope), item_(std::move(item)), table_(table) {
  CHECK(item_.node->is_map(), "only a mapping has members");
}

std::optional<ObjectReader> ObjectReader::open(Scope& scope, const Item& item,
                                               const FieldTable& table) {
  if (!item.node->is_map()) {
    scope.refuse(item,
                 std::string(table.what) + " is a mapping, and this is " +
                     (item.node->is_scalar() ? "the text '" + shown(*item.node) + "'"
                                             : std::string(kind_name(*item.node))),
                 shown(*item.node),
                 "write fields such as `" + std::string(table.built_names().front()) + ": ...`");
    return std::nullopt;
  }
  ObjectReader reader(scope, item, table);
  for (const YamlMember& member : item.node->members) reader.admit(member);
  return reader;
}

void ObjectReader::admit(const YamlMember& member) {
  if (scope_.faults.full()) return;
  CHECK(!member.key->is_map(), "a key is a scalar");
  const std::string& spelling = member.key->text;
  const std::string path = item_.path_of(shown(spelling));
  const Field* field = table_.find(spelling);
  const Item at_key{member.key.get(), path};
  if (field == nullptr) return refuse_unknown(member, path);
  if (field->built == Built::kNotYet) {
    scope_.refuse(at_key, Error(Errc::kUnsupported, "`" + spelling + "` is not in this version")
                              .with_value(spelling)
                              .with_hint("remove the field"));
    return;
  }
  if (const auto other = admitted_.find(field->name); other != admitted_.end()) {
    scope_.refuse(
        at_key,
        "'" + spelling + "' and '" + other->second->key->text + "' are two spellings of one field",
        spelling, "keep `" + std::string(field->name) + "`");
    return;
  }
  if (member.value->is_null()) {
    scope_.refuse(at_key, "'" + spelling + "' has no value", "",
                  "write one after the colon, or delete the line");
  }
  admitted_[field->name] = &member;
}

void ObjectReader::refuse_unknown(const YamlMember& member, const std::string& path) {
  const std::string& spelling = member.key->text;
  std::vector<std::string_view> candidates = table_.built_names();
  const std::vector<std::string_view> names = candidates;
  for (const Field& field : table_.fields) {
    if (!field.aliases[0].empty() && field.built == Built::kYes)
      candidates.push_back(field.aliases[0]);
  }
  std::string meant = translated(spelling, table_);
  if (meant.empty()) meant = nearest(spelling, candidates);
  if (!meant.empty()) meant_.insert(meant);
  scope_.refuse(
      {member.key.get(), path},
      "'" + shown(spelling) + "' is not a field of " + std::string(table_.what), shown(spelling),
      meant.empty() ? "the fields are " + listed(names) : "did you mean `" + meant + "`?");
}

std::optional<Item> ObjectReader::take(std::string_view name) {
  CHECK(table_.find(name) != nullptr, "a reader asks only for fields of its table");
  CHECK(table_.find(name)->built == Built::kYes, "a field that is read is documented as built");
  taken_.push_back(name);
  const auto found = admitted_.find(name);
  if (found == admitted_.end() || found->second->value->is_null()) return std::nullopt;
  const YamlMember* member = found->second;
  admitted_.erase(found);
  return Item{member->value.get(), item_.path_of(member->key->text)};
}

void ObjectReader::done() const {
  for (const std::string_view name : table_.built_names()) {
    CHECK(std::find(taken_.begin(), taken_.end(), name) != taken_.end(),
          "a field is in the table and nobody reads it: " + std::string(name));
  }
}

}  // namespace runnel::spec
