#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/units.h"

namespace runnel::cli {

// How far a transfer of files has come.
struct TransferState {
  std::int64_t files = 0;
  std::int64_t bytes = 0;
  std::optional<std::int64_t> total;  // Bytes, where that is known.
  friend bool operator==(const TransferState&, const TransferState&) = default;
};

// "get  120 files  1.5 GiB of 3 GiB  50 %  310 MiB/s  5 s left". `still`: since when nothing has
// come; for long: "get  120 files  1.5 GiB of 3 GiB  50 %  nothing for 12 s".
std::string transfer_text(const std::string& what, const TransferState& state, Duration running,
                          Duration still = {});

// That line on a terminal, drawn again in place a few times a second; nothing in a pipe.
//
// Threads: one. Whatever else is said meanwhile comes after clear().
class TransferLine {
 public:
  explicit TransferLine(std::string what);
  ~TransferLine() { clear(); }
  TransferLine(const TransferLine&) = delete;
  TransferLine& operator=(const TransferLine&) = delete;

  bool is_shown() const { return is_shown_; }  // Whether it is worth knowing the total.
  void draw(const TransferState& state);
  // To be called now and then: nobody tells of what does not come.
  void draw_again();
  void clear();

 private:
  std::string what_;
  bool is_shown_;
  Duration begun_;
  std::optional<Duration> drawn_;  // When it was drawn last.
  TransferState state_;
  Duration moved_;  // When it came to that.
};

}  // namespace runnel::cli
