// Arbitrary bytes as a TensorBoard file: as they are, and as the event of a record that is sound.
// How a file grows changes none of its values, and what is read can be written as JSON.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/check.h"
#include "extract/event_reader.h"
#include "json/value.h"
#include "json/writer.h"

namespace {

using namespace runnel;
using namespace runnel::extract;

using Value = std::tuple<std::int64_t, std::string, std::string>;

bool is_value(const std::string& text) {
  return json::is_number(text) || text == "nan" || text == "inf" || text == "-inf";
}

std::vector<Value> values_of(const std::vector<MetricSample>& samples) {
  std::vector<Value> values;
  for (const MetricSample& sample : samples) {
    CHECK(sample.step >= 0, "a step is below zero");
    CHECK(!sample.values.empty(), "a sample without values");
    for (const auto& [name, text] : sample.values) {
      CHECK(json::is_utf8(name), "a metric's name is no text");
      CHECK(is_value(text), "a metric's value is none");
      values.emplace_back(sample.step, name, text);
    }
  }
  // What is said of one step together is sorted by name, in larger pieces as in smaller ones.
  std::sort(values.begin(), values.end());
  return values;
}

struct Read {
  std::vector<Value> values;
  std::int64_t bad = 0;
};

Read read_in_pieces(std::string_view file, std::size_t piece) {
  EventReader reader("run/");
  std::vector<MetricSample> samples;
  while (!file.empty()) {
    const std::size_t taken = std::min(piece, file.size());
    reader.add(file.substr(0, taken), samples);
    file.remove_prefix(taken);
    file.remove_prefix(std::min(static_cast<std::size_t>(reader.take_skip()), file.size()));
  }
  return {values_of(samples), reader.bad_records()};
}

std::string little_endian(std::uint64_t value, std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

std::string record(std::string_view event) {
  const std::string length = little_endian(event.size(), 8);
  std::string bytes = length + little_endian(masked_crc(length), 4);
  return bytes.append(event) + little_endian(masked_crc(event), 4);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  const std::string file = data[0] % 2 == 0 ? std::string(bytes) : record(bytes) + record(bytes);
  const Read whole = read_in_pieces(file, file.size() + 1);
  const Read pieces = read_in_pieces(file, 1 + data[1]);
  CHECK(whole.values == pieces.values, "how a file grows changes what it says");
  CHECK(whole.bad == pieces.bad, "how a file grows changes what is damaged");
  return 0;
}
