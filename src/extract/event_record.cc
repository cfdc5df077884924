#include "extract/event_record.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <protozero/pbf_reader.hpp>

#include "extract/number.h"
#include "json/writer.h"
#include "model/report.h"
#include "model/spec.h"

namespace runnel::extract {
namespace {

using protozero::pbf_reader;
using Wire = protozero::pbf_wire_type;

// A field's number and its form on the wire: what has another form is passed over.
constexpr std::uint32_t field(std::uint32_t number, Wire wire) {
  return protozero::tag_and_type(number, wire);
}

// Fields of tensorflow.Event, Summary, Summary.Value and TensorProto.
constexpr std::uint32_t kEventStep = field(2, Wire::varint);
constexpr std::uint32_t kEventSummary = field(5, Wire::length_delimited);
constexpr std::uint32_t kSummaryValue = field(1, Wire::length_delimited);
constexpr std::uint32_t kValueTag = field(1, Wire::length_delimited);
constexpr std::uint32_t kValueSimple = field(2, Wire::fixed32);
constexpr std::uint32_t kValueTensor = field(8, Wire::length_delimited);
constexpr std::uint32_t kTensorType = field(1, Wire::varint);
constexpr std::uint32_t kTensorContent = field(4, Wire::length_delimited);
constexpr std::uint32_t kTensorFloats = field(5, Wire::length_delimited);
constexpr std::uint32_t kTensorFloat = field(5, Wire::fixed32);
constexpr std::uint32_t kTensorDoubles = field(6, Wire::length_delimited);
constexpr std::uint32_t kTensorDouble = field(6, Wire::fixed64);
constexpr std::uint32_t kTensorInts = field(7, Wire::length_delimited);
constexpr std::uint32_t kTensorInt = field(7, Wire::varint);
constexpr std::uint32_t kTensorInt64s = field(10, Wire::length_delimited);
constexpr std::uint32_t kTensorInt64 = field(10, Wire::varint);

enum class TensorType : std::uint8_t { kFloat = 1, kDouble = 2, kInt32 = 3, kInt64 = 9 };

// The texts of a tensor's elements, as far as they are wanted: two say that it is no scalar.
class Elements {
 public:
  void add(std::string text) {
    if (count_++ == 0) first_ = std::move(text);
  }
  template <typename Range>
  void add_all(const Range& range) {
    for (const auto value : range) {
      add(text_of(value));
      if (count_ > 1) return;
    }
  }
  static std::string text_of(float value) { return metric_number(value); }
  static std::string text_of(double value) { return metric_number(value); }
  static std::string text_of(std::int32_t value) { return std::to_string(value); }
  static std::string text_of(std::int64_t value) { return std::to_string(value); }

  // Empty when there is not exactly one.
  std::string only() && { return count_ == 1 ? std::move(first_) : std::string(); }

 private:
  std::string first_;
  std::size_t count_ = 0;
};

template <typename Number>
std::string from_content(std::string_view content) {
  static_assert(std::endian::native == std::endian::little, "contents are little endian");
  std::array<char, sizeof(Number)> bytes{};
  if (content.size() != bytes.size()) return "";
  std::copy(content.begin(), content.end(), bytes.begin());
  return Elements::text_of(std::bit_cast<Number>(bytes));
}

std::string from_content(std::int32_t type, std::string_view content) {
  switch (static_cast<TensorType>(type)) {
    case TensorType::kFloat: return from_content<float>(content);
    case TensorType::kDouble: return from_content<double>(content);
    case TensorType::kInt32: return from_content<std::int32_t>(content);
    case TensorType::kInt64: return from_content<std::int64_t>(content);
  }
  return "";
}

std::string_view view_of(pbf_reader& message) {
  const protozero::data_view view = message.get_view();
  return {view.data(), view.size()};
}

// Empty for what is no scalar.
std::string read_tensor(pbf_reader tensor) {
  Elements elements;
  std::int32_t type = 0;
  std::string_view content;
  while (tensor.next()) {
    switch (tensor.tag_and_type()) {
      case kTensorType: type = tensor.get_enum(); break;
      case kTensorContent: content = view_of(tensor); break;
      case kTensorFloats: elements.add_all(tensor.get_packed_float()); break;
      case kTensorFloat: elements.add(Elements::text_of(tensor.get_float())); break;
      case kTensorDoubles: elements.add_all(tensor.get_packed_double()); break;
      case kTensorDouble: elements.add(Elements::text_of(tensor.get_double())); break;
      case kTensorInts: elements.add_all(tensor.get_packed_int32()); break;
      case kTensorInt: elements.add(Elements::text_of(tensor.get_int32())); break;
      case kTensorInt64s: elements.add_all(tensor.get_packed_int64()); break;
      case kTensorInt64: elements.add(Elements::text_of(tensor.get_int64())); break;
      default: tensor.skip();
    }
  }
  return content.empty() ? std::move(elements).only() : from_content(type, content);
}

void read_value(pbf_reader value, std::string_view prefix, MetricSample& sample) {
  std::string name;
  std::string number;
  while (value.next()) {
    switch (value.tag_and_type()) {
      case kValueTag: name = std::string(prefix).append(view_of(value)); break;
      case kValueSimple: number = metric_number(value.get_float()); break;
      case kValueTensor: number = read_tensor(value.get_message()); break;
      default: value.skip();
    }
  }
  if (number.empty() || name.size() <= prefix.size() || !json::is_utf8(name)) return;
  if (name.size() > model::kNameBytesMax || sample.values.size() >= model::kMetricsMax) return;
  const auto place = std::lower_bound(sample.values.begin(), sample.values.end(), name,
                                      [](const auto& a, const auto& b) { return a.first < b; });
  if (place != sample.values.end() && place->first == name) return;
  sample.values.emplace(place, std::move(name), std::move(number));
}

MetricSample read_message(pbf_reader event, std::string_view prefix) {
  MetricSample sample;
  while (event.next()) {
    switch (event.tag_and_type()) {
      case kEventStep: sample.step = event.get_int64(); break;
      case kEventSummary: {
        pbf_reader summary = event.get_message();
        while (summary.next(kSummaryValue >> 3, Wire::length_delimited)) {
          read_value(summary.get_message(), prefix, sample);
        }
        break;
      }
      default: event.skip();
    }
  }
  return sample;
}

}  // namespace

std::optional<MetricSample> read_event(std::string_view bytes, std::string_view prefix) {
  try {
    MetricSample sample = read_message(pbf_reader(bytes.data(), bytes.size()), prefix);
    if (sample.step < 0) sample.values.clear();
    return sample;
  } catch (const protozero::exception&) {
    return std::nullopt;
  }
}

}  // namespace runnel::extract
