#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/shown.h"
#include "spec/diagnostics.h"
#include "spec/fields.h"

namespace runnel::spec {

// All that reading a value needs besides the value: where faults go, and which variables `${NAME}`
// names.
struct Scope {
  Diagnostics& faults;
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> given;  // On the command line: they win over the file's.

  void refuse(const Item& item, std::string message, std::string value, std::string hint) const;
  void refuse(const Item& item, Error error) const { faults.report(item, std::move(error)); }
};

using runnel::listed;
using runnel::shown;
// The value as an error repeats it: `a list` or `a mapping` for the larger.
std::string shown(const YamlNode& node);

// A text that a template gives back as it is: for what came from a command line.
std::string template_literal(std::string_view text);

// Reads the members of one mapping, each by its name in the mapping's table.
//
// Contract: open() reports every key that is unknown, not built, empty or spelled twice. take()
//           gives a value to its reader at most once; done() CHECKs that each built field was
//           taken, so that no field is documented and then ignored.
// Lifetime: borrows the node, the table and the scope.
class ObjectReader {
 public:
  // Nothing (and a report) when the value is not a mapping.
  static std::optional<ObjectReader> open(Scope& scope, const Item& item, const FieldTable& table);

  // The field's value by any of its spellings; nothing when it is absent or was refused.
  std::optional<Item> take(std::string_view name);
  void done() const;
  const Item& item() const { return item_; }
  // Whether a key that is no field was refused with the question whether this one was meant.
  bool misspelt(std::string_view name) const { return meant_.contains(name); }

 private:
  ObjectReader(Scope& scope, Item item, const FieldTable& table);
  void admit(const YamlMember& member);
  void refuse_unknown(const YamlMember& member, const std::string& path);

  Scope& scope_;
  Item item_;
  const FieldTable& table_;
  std::map<std::string_view, const YamlMember*> admitted_;  // By the field's own name.
  std::vector<std::string_view> taken_;
  std::set<std::string, std::less<>> meant_;
};

}  // namespace runnel::spec
