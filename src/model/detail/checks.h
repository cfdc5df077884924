#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/result.h"
#include "model/fields.h"

// What the checks of specifications share. An error names the field from where it stands.
namespace runnel::model::detail {

inline Error invalid(std::string field, std::string message) {
  return Error(Errc::kInvalid, std::move(message)).with_field(std::move(field));
}

inline Error invalid(std::string field, std::string message, std::string value) {
  return invalid(std::move(field), std::move(message)).with_value(std::move(value));
}

template <typename Int>
Result<void> check_within(const char* field, Int value, std::int64_t min, std::int64_t max) {
  Result<std::int64_t> done =
      read_number(json::Value::integer(value), Number{.min = min, .max = max});
  if (!done.ok()) return inside(field, std::move(done).error());
  return {};
}

inline Result<void> check_size(const char* field, std::size_t size, std::size_t max,
                               const char* what) {
  if (size <= max) return {};
  return invalid(field, "this has " + std::to_string(size) + " " + what + "; the most is " +
                            std::to_string(max));
}

// Text that reaches the operating system, which ends it at a NUL.
inline Result<void> check_text(const char* field, const std::string& text, std::size_t bytes_max) {
  TRY(check_size(field, text.size(), bytes_max, "bytes"));
  if (text.find('\0') == std::string::npos) return {};
  return invalid(field, "this holds a NUL byte, which no program can be given");
}

inline Result<void> check_name(const char* field, const std::string& name) {
  if (name.empty()) return invalid(field, "this must not be empty");
  return check_text(field, name, kNameBytesMax);
}

// Runs `check` on each item and tells the first error from outside the list.
template <typename List, typename Check>
Result<void> check_each(const char* field, const List& list, Check check) {
  std::size_t index = 0;
  for (const auto& item : list) {
    Result<void> done = check(item);
    if (!done.ok()) {
      return inside(field, inside_item(index, std::move(done).error()));
    }
    ++index;
  }
  return {};
}

// A check for check_each: no two items may have the same key.
template <typename Key>
class Distinct {
 public:
  Result<void> operator()(const char* field, const Key& key, const std::string& shown) {
    if (seen_.insert(key).second) return {};
    return invalid(field, "'" + shown + "' stands here twice", shown);
  }

 private:
  std::set<Key> seen_;
};

}  // namespace runnel::model::detail
