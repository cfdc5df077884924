#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "model/log.h"
#include "model/refs.h"

namespace runnel::output {

// One record of a job's `logs/index`: 96 bytes, appended by the runner, read by the log reader.
//
// An attempt's output lies in the segment files of its lane's slot, from the offsets in its kStart
// record to those in its kEnd record (while it runs: to the ends of the files). kGap and kEnd say
// which part of each stream max_log has dropped so far.
struct IndexRecord {
  enum class Kind : std::uint8_t { kStart = 1, kEnd = 2, kGap = 3 };
  Kind kind = Kind::kStart;
  std::uint32_t slot = 0;
  std::int32_t rank = 0;
  std::int32_t step = 0;
  std::int64_t task = 0;
  std::int32_t attempt = 0;
  std::int64_t time = 0;               // Milliseconds since 1970.
  std::int64_t offset[2] = {0, 0};     // kStart, kEnd. By LogStream, as the next two.
  std::int64_t gap_begin[2] = {0, 0};  // kGap, kEnd. Offsets in the segment.
  std::int64_t gap_end[2] = {0, 0};
  std::int64_t max_log = 0;  // Bytes.

  friend bool operator==(const IndexRecord&, const IndexRecord&) = default;
};

// Whether it says that something was dropped.
inline bool has_gap(const IndexRecord& record) {
  return record.gap_end[0] > record.gap_begin[0] || record.gap_end[1] > record.gap_begin[1];
}

inline constexpr std::size_t kIndexRecordBytes = 96;

void append_record(std::string& out, const IndexRecord& record);
// Nothing when the bytes are torn or damaged.
std::optional<IndexRecord> parse_record(std::string_view bytes);

// "<logs>/3.0.out": slot 3, rank 0.
std::string segment_path(const std::string& logs, std::uint32_t slot, std::int32_t rank,
                         model::LogStream stream);
// The parts of such a name; nothing for names of other files.
struct OutputName {
  std::uint32_t slot = 0;
  std::int32_t rank = 0;
  model::LogStream stream = model::LogStream::kOut;
};
std::optional<OutputName> parse_output_name(std::string_view name);
std::string marks_path(const std::string& logs, std::uint32_t slot, std::int32_t rank);
std::string index_path(const std::string& logs);

}  // namespace runnel::output
