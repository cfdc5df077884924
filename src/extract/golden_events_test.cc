// Files that PyTorch wrote (torch.utils.tensorboard, once in its old style and once with
// new_style=True, which is TensorFlow 2's), and what it was given.
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "extract/event_reader.h"
#include "json/value.h"

namespace runnel::extract {
namespace {

const std::string kTensorBoard = std::string(RUNNEL_SOURCE_DIR) + "/test/golden/tensorboard/";

using Key = std::pair<std::string, std::int64_t>;

std::string bytes_of(const std::string& name) {
  std::ifstream in(kTensorBoard + name, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::map<Key, std::string> values_in(const std::string& name) {
  std::map<Key, std::string> values;
  std::vector<MetricSample> samples;
  EventReader reader("");
  reader.add(bytes_of(name), samples);
  EXPECT_EQ(reader.bad_records(), 0);
  for (const MetricSample& sample : samples) {
    for (const auto& [tag, value] : sample.values) values[{tag, sample.step}] = value;
  }
  return values;
}

class GoldenEvents : public testing::TestWithParam<std::string> {};

TEST_P(GoldenEvents, SayWhatTheWriterWasGiven) {
  const std::map<Key, std::string> values = values_in(GetParam() + ".tfevents");
  const json::Value rows = MUST(json::parse(bytes_of(GetParam() + ".json")));
  ASSERT_EQ(values.size(), rows.as_list().size());
  for (const json::Value& row : rows.as_list()) {
    const Key key(row.as_list()[0].as_text(), row.as_list()[1].as_int());
    ASSERT_TRUE(values.contains(key)) << key.first;
    const std::string& wanted = row.as_list()[2].as_text();
    if (wanted == "nan") {
      EXPECT_EQ(values.at(key), "nan");
    } else {
      EXPECT_FLOAT_EQ(std::strtof(values.at(key).c_str(), nullptr),
                      std::strtof(wanted.c_str(), nullptr));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Written, GoldenEvents, testing::Values("scalars", "tensors"),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace runnel::extract
