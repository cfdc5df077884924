#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "spec/yaml.h"

namespace runnel::spec {

// A value and the dotted path of the field that holds it: "steps.train.resources.memory".
struct Item {
  const YamlNode* node = nullptr;  // Never null.
  std::string path;

  // The path of a member or of an element, for what is read from inside this value.
  std::string path_of(std::string_view name) const;
};

// Collects what is wrong with one file, in the order of its lines.
//
// Contract: at most kErrorsMax are kept, the rest is dropped: nobody mends a hundred faults at
//           once. `text` is the source without its byte order mark and outlives this object.
// Threads:  none of its own.
// Why:      `validate` shows every fault of a file, `run` the first; both read the file once.
class Diagnostics {
 public:
  static constexpr std::size_t kErrorsMax = 100;

  Diagnostics(std::string file, std::string_view text) : file_(std::move(file)), text_(text) {}

  // Adds the field and the place of `item` to the error and keeps it. What came from a flag is
  // called by the flag's name.
  void report(const Item& item, Error error);
  // The same for a piece of text somewhere inside a scalar: the place is that of `piece`.
  void report_inside(const Item& item, std::string_view piece, Error error);
  // Keeps an error that knows its place already: the YAML reader's.
  void keep_placed(Error error);

  // Whether something was refused at this field, inside it, or at what it is inside of.
  bool has_refused(std::string_view path) const;

  bool ok() const { return faults_.empty(); }
  bool full() const { return faults_.size() >= kErrorsMax; }  // Looking further is in vain.
  // All errors sorted by place, each once. Leaves nothing behind.
  std::vector<Error> take();

 private:
  void keep(const Item& item, std::size_t offset, Error error);

  std::string file_;
  std::string_view text_;
  std::set<std::string> refused_;             // The paths of fields; without those of flags.
  std::multimap<std::size_t, Error> faults_;  // By the byte where they stand.
};

}  // namespace runnel::spec
