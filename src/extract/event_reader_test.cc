#include "extract/event_reader.h"

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

namespace runnel::extract {
namespace {

std::string number_bytes(std::uint64_t value, std::size_t count) {
  std::string bytes;
  for (std::size_t i = 0; i < count; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

std::string record(const std::string& event) {
  const std::string length = number_bytes(event.size(), 8);
  return length + number_bytes(masked_crc(length), 4) + event + number_bytes(masked_crc(event), 4);
}

// A value of a summary: its tag and whatever `fill` adds.
template <typename Fill>
std::string event_with(std::int64_t step, const std::string& tag, Fill fill) {
  std::string value;
  protozero::pbf_writer in_value(value);
  in_value.add_string(1, tag);
  fill(in_value);
  std::string summary;
  protozero::pbf_writer(summary).add_message(1, value);
  std::string event;
  protozero::pbf_writer in_event(event);
  in_event.add_double(1, 1.5e9);
  in_event.add_int64(2, step);
  in_event.add_message(5, summary);
  return event;
}

std::string scalar(std::int64_t step, const std::string& tag, float value) {
  return event_with(step, tag, [&](protozero::pbf_writer& out) { out.add_float(2, value); });
}

template <typename Fill>
std::string tensor(std::int64_t step, const std::string& tag, Fill fill) {
  std::string message;
  protozero::pbf_writer writer(message);
  fill(writer);
  return event_with(step, tag, [&](protozero::pbf_writer& out) { out.add_message(8, message); });
}

struct Read {
  std::vector<MetricSample> samples;
  std::int64_t bad = 0;
};

Read read(std::string_view file, std::size_t piece = SIZE_MAX, const std::string& prefix = "") {
  EventReader reader(prefix);
  Read result;
  while (!file.empty()) {
    const std::size_t taken = std::min(piece, file.size());
    reader.add(file.substr(0, taken), result.samples);
    file.remove_prefix(taken);
    file.remove_prefix(std::min(static_cast<std::size_t>(reader.take_skip()), file.size()));
  }
  result.bad = reader.bad_records();
  return result;
}

const std::vector<MetricSample> kTwo = {{1, {{"acc", "0.5"}, {"loss", "0.1"}}},
                                        {2, {{"loss", "nan"}}}};

std::string two() {
  return record(scalar(1, "loss", 0.1F)) + record(scalar(1, "acc", 0.5F)) +
         record(scalar(2, "loss", std::numeric_limits<float>::quiet_NaN()));
}

TEST(EventReader, ChecksumIsThatOfTheFormat) {
  // Every file of TensorFlow begins with a record of 24 bytes: 18 0 0 0 0 0 0 0 a3 7f 4b 22.
  EXPECT_EQ(masked_crc(number_bytes(24, 8)), 0x224B7FA3U);
  EXPECT_EQ(masked_crc("123456789"), ((0xE3069283U >> 15) | (0xE3069283U << 17)) + 0xA282EAD8U);
}

TEST(EventReader, ReadsScalarsAndJoinsThoseOfAStep) {
  const Read all = read(two());
  EXPECT_EQ(all.samples, kTwo);
  EXPECT_EQ(all.bad, 0);
}

TEST(EventReader, ReadsTheSameValuesHoweverTheFileWasCut) {
  for (const std::size_t piece : {1U, 5U, 13U, 50U}) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const MetricSample& sample : read(two(), piece).samples) {
      values.insert(values.end(), sample.values.begin(), sample.values.end());
    }
    EXPECT_EQ(values.size(), 3U) << piece;
  }
}

TEST(EventReader, PutsThePrefixBeforeTheTag) {
  EXPECT_EQ(read(two(), SIZE_MAX, "run/").samples.back().values.front().first, "run/loss");
}

TEST(EventReader, WaitsForTheRestOfATornTail) {
  const std::string file = two();
  for (std::size_t size = 0; size < file.size(); ++size) {
    EXPECT_EQ(read(std::string_view(file).substr(0, size)).bad, 0) << size;
  }
}

TEST(EventReader, ReadsTensorsOfOneNumber) {
  const auto one = [](const std::string& event) {
    const Read all = read(record(event));
    return all.samples.empty() ? std::string("none") : all.samples[0].values[0].second;
  };
  EXPECT_EQ(one(tensor(1, "t",
                       [](auto& out) {
                         out.add_enum(1, 1);
                         out.add_bytes(4, std::string("\0\0\x80\x3e", 4));  // 0.25
                       })),
            "0.25");
  EXPECT_EQ(one(tensor(1, "t",
                       [](auto& out) {
                         out.add_enum(1, 2);
                         out.add_bytes(4, std::string("\0\0\0\0\0\0\xd0\x3f", 8));
                       })),
            "0.25");
  const float floats[] = {0.5F, 1.5F};
  EXPECT_EQ(one(tensor(1, "t", [&](auto& out) { out.add_packed_float(5, floats, floats + 1); })),
            "0.5");
  EXPECT_EQ(one(tensor(1, "t", [](auto& out) { out.add_double(6, 0.1); })), "0.1");
  EXPECT_EQ(one(tensor(1, "t", [](auto& out) { out.add_int64(10, -7); })), "-7");
  EXPECT_EQ(one(tensor(1, "t", [&](auto& out) { out.add_packed_float(5, floats, floats + 2); })),
            "none");
  EXPECT_EQ(one(tensor(1, "t", [](auto& out) { out.add_bytes(8, "text"); })), "none");
}

TEST(EventReader, CountsADamagedRecordAndGoesOn) {
  const std::string first = record(scalar(1, "loss", 3));
  for (std::size_t at = 0; at < first.size(); ++at) {
    std::string file = first + two();
    file[at] = static_cast<char>(file[at] ^ 0x40);
    const Read all = read(file);
    EXPECT_EQ(all.samples, kTwo) << at;
    EXPECT_EQ(all.bad, 1) << at;
  }
}

TEST(EventReader, CountsARecordThatIsNoEvent) {
  const Read all = read(record("\x2a\x7f no message") + two());
  EXPECT_EQ(all.samples, kTwo);
  EXPECT_EQ(all.bad, 1);
}

TEST(EventReader, PassesOverFieldsOfAnotherForm) {
  std::string event;
  protozero::pbf_writer writer(event);
  writer.add_double(2, 3.0);  // The step is a number of another form.
  writer.add_int32(5, 1);     // So is the summary.
  EXPECT_EQ(read(record(event)).bad, 0);
}

TEST(EventReader, PassesOverImagesWithoutReadingThem) {
  const std::string large = record(event_with(1, "image", [](protozero::pbf_writer& out) {
    out.add_bytes(4, std::string(EventReader::kRecordBytesMax, 'x'));
  }));
  for (const std::size_t piece : {std::size_t{1'000}, large.size() + 20}) {
    const Read all = read(large + two(), piece);
    EXPECT_EQ(all.samples.front(), kTwo.front()) << piece;
    EXPECT_EQ(all.bad, 0) << piece;
  }
}

TEST(EventReader, TakesNoNameThatIsNoTextAndNoStepBelowZero) {
  EXPECT_TRUE(read(record(scalar(1, "\xff", 1))).samples.empty());
  EXPECT_TRUE(read(record(scalar(1, "", 1))).samples.empty());
  EXPECT_TRUE(read(record(scalar(1, std::string(300, 'a'), 1))).samples.empty());
  EXPECT_TRUE(read(record(scalar(-1, "loss", 1))).samples.empty());
}

}  // namespace
}  // namespace runnel::extract
