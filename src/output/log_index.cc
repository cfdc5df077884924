#include "output/log_index.h"

#include <charconv>
#include <utility>

#include "base/binary.h"
#include "base/check.h"
#include "env/files.h"

namespace runnel::output {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::size_t kIndexChecksumAt = 92;

template <typename Int>
void put(std::string& out, Int value) {
  const auto bits = static_cast<std::uint64_t>(value);
  for (std::size_t i = 0; i < sizeof(Int); ++i) out.push_back(static_cast<char>(bits >> (8 * i)));
}

template <typename Int>
Int take(std::string_view& in) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < sizeof(Int); ++i) {
    bits |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(in[i])) << (8 * i);
  }
  in.remove_prefix(sizeof(Int));
  return static_cast<Int>(bits);
}

std::string lane_file(const std::string& logs, std::uint32_t slot, std::int32_t rank,
                      std::string_view suffix) {
  std::string path = logs;
  path.append("/").append(std::to_string(slot)).append(".").append(std::to_string(rank));
  return path.append(suffix);
}

}  // namespace

void append_record(std::string& out, const IndexRecord& record) {
  const std::size_t start = out.size();
  put(out, kVersion);
  put(out, static_cast<std::uint8_t>(record.kind));
  put(out, std::uint16_t{0});
  put(out, record.slot);
  put(out, record.rank);
  put(out, record.step);
  put(out, record.task);
  put(out, record.attempt);
  put(out, record.time);
  for (const auto& pair : {record.offset, record.gap_begin, record.gap_end}) {
    put(out, pair[0]);
    put(out, pair[1]);
  }
  put(out, record.max_log);
  CHECK(out.size() == start + kIndexChecksumAt, "an index record has one size");
  put(out, checksum32(std::string_view(out).substr(start, kIndexChecksumAt)));
}

std::optional<IndexRecord> parse_record(std::string_view bytes) {
  if (bytes.size() < kIndexRecordBytes) return std::nullopt;
  std::string_view sum = bytes.substr(kIndexChecksumAt, 4);
  if (take<std::uint32_t>(sum) != checksum32(bytes.substr(0, kIndexChecksumAt)))
    return std::nullopt;
  if (take<std::uint8_t>(bytes) != kVersion) return std::nullopt;
  const auto kind = take<std::uint8_t>(bytes);
  if (kind < 1 || kind > 3) return std::nullopt;
  take<std::uint16_t>(bytes);
  IndexRecord record;
  record.kind = static_cast<IndexRecord::Kind>(kind);
  record.slot = take<std::uint32_t>(bytes);
  record.rank = take<std::int32_t>(bytes);
  record.step = take<std::int32_t>(bytes);
  record.task = take<std::int64_t>(bytes);
  record.attempt = take<std::int32_t>(bytes);
  record.time = take<std::int64_t>(bytes);
  for (auto* pair : {record.offset, record.gap_begin, record.gap_end}) {
    pair[0] = take<std::int64_t>(bytes);
    pair[1] = take<std::int64_t>(bytes);
  }
  record.max_log = take<std::int64_t>(bytes);
  return record;
}

std::string segment_path(const std::string& logs, std::uint32_t slot, std::int32_t rank,
                         model::LogStream stream) {
  return lane_file(logs, slot, rank, stream == model::LogStream::kOut ? ".out" : ".err");
}

std::optional<OutputName> parse_output_name(std::string_view name) {
  OutputName parsed;
  const char* begin = name.data();
  const char* end = begin + name.size();
  const auto slot = std::from_chars(begin, end, parsed.slot);
  if (slot.ec != std::errc() || slot.ptr == end || *slot.ptr != '.') return std::nullopt;
  const auto rank = std::from_chars(slot.ptr + 1, end, parsed.rank);
  if (rank.ec != std::errc()) return std::nullopt;
  const std::string_view suffix(rank.ptr, static_cast<std::size_t>(end - rank.ptr));
  if (suffix != ".out" && suffix != ".err") return std::nullopt;
  parsed.stream = suffix == ".out" ? model::LogStream::kOut : model::LogStream::kErr;
  return parsed;
}

std::string marks_path(const std::string& logs, std::uint32_t slot, std::int32_t rank) {
  return lane_file(logs, slot, rank, ".marks");
}

std::string index_path(const std::string& logs) { return logs + "/index"; }

}  // namespace runnel::output
