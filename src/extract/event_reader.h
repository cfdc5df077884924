#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "extract/sample.h"

namespace runnel::extract {

// Reads the scalars of a TensorBoard file that comes in pieces: records of a length, its checksum,
// the bytes of an event, their checksum.
//
// Contract: a record that is not whole yet waits. One whose bytes are damaged is counted and passed
//           over; after a damaged length reading goes on at the next header that is sound. Records
//           over kRecordBytesMax hold images or graphs and are passed over: take_skip() says how
//           many of the following bytes need not be read. How the file was cut changes no value.
// Threads:  one at a time.
class EventReader {
 public:
  static constexpr std::size_t kRecordBytesMax = std::size_t{1} << 20;

  // `prefix` stands before each tag.
  explicit EventReader(std::string prefix) : prefix_(std::move(prefix)) {}

  void add(std::string_view bytes, std::vector<MetricSample>& samples);
  std::int64_t take_skip() { return std::exchange(skip_, 0); }
  std::int64_t bad_records() const { return bad_records_; }

 private:
  std::size_t take_record(std::string_view bytes, std::vector<MetricSample>& samples);
  std::size_t pass_over(std::size_t size, std::size_t available);
  void lose_place();

  std::string prefix_;
  std::string pending_;
  std::int64_t skip_ = 0;
  bool searching_ = false;  // For a sound header.
  std::int64_t bad_records_ = 0;
};

// The checksum of such records, of `bytes`.
std::uint32_t masked_crc(std::string_view bytes);

}  // namespace runnel::extract
