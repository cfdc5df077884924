#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace runnel::json {

// Writes canonical JSON straight into a string: no tree, no allocation but the string's own.
//
// Contract: keys of an object are written in ascending byte order (CHECKed in debug builds), values
//           are integers, text, bool, null, lists and objects. begin/end calls are balanced.
// Threads:  none of its own.
// Why:      every event and every batch passes here; a tree per event costs ten times as much.
class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  Writer& begin_object();
  Writer& end_object();
  Writer& begin_list();
  Writer& end_list();
  Writer& key(std::string_view name);
  Writer& integer(std::int64_t value);
  Writer& text(std::string_view value);
  Writer& boolean(bool value);
  Writer& null();
  Writer& raw(std::string_view canonical_json);  // Trusted, already canonical.

  // key + value in one call.
  Writer& field(std::string_view name, std::int64_t value) { return key(name).integer(value); }
  Writer& field(std::string_view name, std::string_view value) { return key(name).text(value); }
  Writer& field(std::string_view name, const char* value) { return key(name).text(value); }

 private:
  void separate();

  std::string& out_;
  bool need_comma_ = false;
};

}  // namespace runnel::json
