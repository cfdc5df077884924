#include "extract/event_reader.h"

#include <algorithm>
#include <optional>

#include <boost/crc.hpp>

#include "base/check.h"
#include "extract/event_record.h"

namespace runnel::extract {
namespace {

using Crc32c = boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true>;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kChecksumBytes = 4;
constexpr std::size_t kHeaderBytes = kLengthBytes + kChecksumBytes;
// No file is as long; a length above it was made to be sound and is none.
constexpr std::uint64_t kLengthMax = std::uint64_t{1} << 48;

template <typename Int>
Int little_endian(std::string_view bytes) {
  CHECK(bytes.size() >= sizeof(Int), "a number is cut short");
  Int value = 0;
  for (std::size_t i = sizeof(Int); i-- > 0;) {
    value = static_cast<Int>(value << 8 | static_cast<std::uint8_t>(bytes[i]));
  }
  return value;
}

bool is_sound(std::string_view bytes, std::string_view checksum) {
  return masked_crc(bytes) == little_endian<std::uint32_t>(checksum.substr(0, kChecksumBytes));
}

// The length of the record that begins here; nothing when the header is damaged.
std::optional<std::uint64_t> length_of(std::string_view header) {
  const std::string_view length = header.substr(0, kLengthBytes);
  if (!is_sound(length, header.substr(kLengthBytes))) return std::nullopt;
  const auto value = little_endian<std::uint64_t>(length);
  if (value > kLengthMax) return std::nullopt;
  return value;
}

}  // namespace

std::uint32_t masked_crc(std::string_view bytes) {
  constexpr std::uint32_t kMask = 0xA282EAD8;
  Crc32c crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const auto sum = static_cast<std::uint32_t>(crc.checksum());
  return (sum >> 15 | sum << 17) + kMask;
}

void EventReader::add(std::string_view bytes, std::vector<MetricSample>& samples) {
  CHECK(skip_ == 0, "bytes that were to be skipped are read");
  pending_.append(bytes);
  std::size_t done = 0;
  while (const std::size_t taken = take_record(std::string_view(pending_).substr(done), samples)) {
    done += taken;
  }
  CHECK(done <= pending_.size(), "more is done with than there was");
  pending_.erase(0, done);
}

// How many bytes are done with; 0: more must come first.
std::size_t EventReader::take_record(std::string_view bytes, std::vector<MetricSample>& samples) {
  if (bytes.size() < kHeaderBytes) return 0;
  const std::optional<std::uint64_t> length = length_of(bytes);
  if (!length) {
    lose_place();
    return 1;
  }
  searching_ = false;
  const std::size_t size = kHeaderBytes + *length + kChecksumBytes;
  if (*length > kRecordBytesMax) return pass_over(size, bytes.size());
  if (bytes.size() < size) return 0;
  const std::string_view event = bytes.substr(kHeaderBytes, *length);
  std::optional<MetricSample> sample;
  if (is_sound(event, bytes.substr(kHeaderBytes + *length))) sample = read_event(event, prefix_);
  if (!sample) {
    ++bad_records_;
  } else if (!sample->values.empty()) {
    append_sample(samples, *std::move(sample));
  }
  return size;
}

std::size_t EventReader::pass_over(std::size_t size, std::size_t available) {
  CHECK(size > kRecordBytesMax, "a record that can be read is passed over");
  const std::size_t here = std::min(size, available);
  skip_ = static_cast<std::int64_t>(size - here);
  return here;
}

// Counted once, however many bytes it takes to find a header again.
void EventReader::lose_place() {
  if (!searching_) ++bad_records_;
  searching_ = true;
}

}  // namespace runnel::extract
