#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace runnel {

// The kind of a failure: it decides exit codes, HTTP statuses and whether a retry can help. One
// enum serves all modules, since every one of them ends at the same two places: a person's terminal
// and a problem document (docs/design/errors.md).
enum class Errc : std::uint8_t {
  kInvalid,       // The request or file is wrong; repeating it cannot help (exit 2, HTTP 422).
  kNotFound,      // No such job, file, node (exit 1, HTTP 404).
  kConflict,      // The state does not allow it now (HTTP 409).
  kPrecondition,  // If-Match, epoch or incarnation is stale (HTTP 412).
  kGone,          // A cursor too old (HTTP 410).
  kUnsupported,   // Known but not in this version, or not on this machine (exit 2, HTTP 422).
  kDenied,        // Not permitted (HTTP 403).
  kFull,          // A named maximum or the disk is reached; goes on when there is room (HTTP 429).
  kUnavailable,   // The peer is not there now; a retry may help (HTTP 503).
  kTimeout,       // It took longer than its limit.
  kCancelled,     // Stopped on request.
  kCorrupt,       // Stored data is damaged (exit 1, HTTP 500).
  kIo,            // The operating system refused (exit 1, HTTP 500).
  kInternal,      // Ours.
};

// The stable lower-case word of a code, as it appears in problem documents: "invalid", "not-found".
std::string_view to_string(Errc code);

// A place in a user's file. Lines and columns count from 1; 0 means unknown.
struct SourcePosition {
  std::string file;
  int line = 0;
  int column = 0;

  bool known() const { return line > 0; }
  friend bool operator==(const SourcePosition&, const SourcePosition&) = default;
};

// One failure, told to a person: what is wrong, with which field and value, where, and what to do.
//
// Contract: `message` is a full sentence without the place; `hint` says what to do next and may be
//           empty. A value type: copy, move, compare.
// Why:      an error travels through many layers; each adds what it knows and none formats early.
struct Error {
  Errc code = Errc::kInternal;
  std::string message;
  std::string field;  // Dotted path of the field, "resources.memory"; empty when there is none.
  std::string value;  // The offending value as the user wrote it.
  std::string hint;   // The remedy or the next command.
  SourcePosition where;
  std::vector<Error> others;  // Other faults of the same document, where all are told at once.

  Error() = default;
  Error(Errc error_code, std::string text) : code(error_code), message(std::move(text)) {}

  Error& with_field(std::string name);
  Error& with_value(std::string text);
  Error& with_hint(std::string text);
  Error& at(SourcePosition position);

  // "job.yaml:3:7: resources.memory: '12 bananas' is not an amount of bytes; write 24GB or 24GiB".
  std::string to_string() const;

  friend bool operator==(const Error&, const Error&) = default;
};

// "No such file or directory" and its kind, as an error: `what` says what was tried, on which path.
Error errno_error(std::string what, int errno_value);

}  // namespace runnel
