#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace runnel::json {

// Reads one object of a document that came from outside, with errors that name the field.
//
// Contract: each getter returns kInvalid naming `path.key` when the member is missing (without a
//           fallback) or of another kind. finish() refuses members that nobody asked for, naming
//           the nearest known one. The reader borrows the value, which must outlive it.
// Threads:  none of its own.
class Reader {
 public:
  // `path` is the dotted place of this object, "" at the top.
  static Result<Reader> of(const Value& value, std::string path);

  Result<std::int64_t> integer(std::string_view key);
  Result<std::int64_t> integer_or(std::string_view key, std::int64_t fallback);
  Result<std::string> text(std::string_view key);
  Result<std::string> text_or(std::string_view key, std::string fallback);
  Result<bool> boolean_or(std::string_view key, bool fallback);
  Result<const Value*> list(std::string_view key);    // never null when ok
  Result<const Value*> object(std::string_view key);  // never null when ok
  // null when missing or JSON null.
  const Value* optional(std::string_view key);
  Result<void> finish() const;

  std::string path_of(std::string_view key) const;

 private:
  Reader(const Value& value, std::string path);

  Result<const Value*> required(std::string_view key, Value::Kind kind);
  Result<const Value*> optional_of(std::string_view key, Value::Kind kind);  // null when missing
  Error unknown(const std::string& key) const;

  const Value* value_;
  std::string path_;
  std::vector<std::string> asked_;
};

}  // namespace runnel::json
