#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace runnel::json {

// Writes canonical JSON straight into a string: no tree, no allocation but the string's own.
//
// Contract: keys of an object are written in ascending byte order and at most kDepthMax levels are
//           open (both CHECKed); begin/end calls are balanced. Text that is not UTF-8 is written
//           with U+FFFD in place of each bad byte, since what is written must be readable again.
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
  template <typename Number>
    requires std::is_integral_v<Number>
  Writer& field(std::string_view name, Number value) {
    key(name);
    if constexpr (std::is_same_v<Number, bool>) {
      return boolean(value);
    } else {
      return integer(static_cast<std::int64_t>(value));
    }
  }
  Writer& field(std::string_view name, std::string_view value) { return key(name).text(value); }
  Writer& field(std::string_view name, const char* value) { return key(name).text(value); }

 private:
  static constexpr std::size_t kDepthMax = 64;

  // An open object or list. The last key stands in `out_`, still escaped.
  struct Level {
    bool is_object;
    std::size_t key_begin;
    std::size_t key_size;
  };

  void open(bool is_object, char bracket);
  void close(bool is_object, char bracket);
  void separate();
  void check_order(Level& level, std::size_t key_begin) const;

  std::string& out_;
  std::array<Level, kDepthMax> levels_;  // Set as they open: a writer is made for each event.
  std::size_t depth_ = 0;
  bool need_comma_ = false;
};

// Whether text is UTF-8 throughout (Unicode, table 3-7).
bool is_utf8(std::string_view text);

}  // namespace runnel::json
