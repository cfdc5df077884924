#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/codec.h"

namespace runnel::model {
namespace {

// Logs that older builds wrote. They must be read and written to the same bytes for ever: a hash
// chain stands on them. Add files for new formats; never change these.
std::vector<std::string> lines_of(const std::string& name) {
  std::ifstream file(std::string(RUNNEL_SOURCE_DIR) + "/test/golden/log/" + name);
  EXPECT_TRUE(file.is_open()) << name;
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// Every line comes back byte for byte; returns the types that were met.
template <typename Decode>
std::set<std::string_view> replay(const std::string& name, Decode decode) {
  std::set<std::string_view> types;
  for (const std::string& line : lines_of(name)) {
    const Result<json::Value> document = json::parse(line);
    EXPECT_TRUE(document.ok()) << line;
    if (!document.ok()) continue;
    const auto value = decode(*document);
    EXPECT_TRUE(value.ok()) << value.error().to_string() << "\n" << line;
    if (!value.ok()) continue;
    EXPECT_EQ(encode_text(*value), line);
    types.insert(type_of(*value));
  }
  return types;
}

TEST(Golden, EventsOfVersion1) { EXPECT_EQ(replay("events-v1.jsonl", decode_event).size(), 16u); }

TEST(Golden, InputsOfVersion1) { EXPECT_EQ(replay("inputs-v1.jsonl", decode_input).size(), 6u); }

TEST(Golden, EventsAndInputsOfHealth) {
  EXPECT_EQ(replay("events-health-v1.jsonl", decode_event).size(), 2u);
  EXPECT_EQ(replay("inputs-health-v1.jsonl", decode_input).size(), 1u);
}

TEST(Golden, EventsAndInputsOfSuspects) {
  EXPECT_EQ(replay("events-suspects-v1.jsonl", decode_event).size(), 3u);
  EXPECT_EQ(replay("events-stopped-v1.jsonl", decode_event).size(), 1u);
  EXPECT_EQ(replay("inputs-suspects-v1.jsonl", decode_input).size(), 1u);
}

TEST(Golden, AJoinAfterACrashOfAnIdleRunner) {
  EXPECT_EQ(replay("inputs-idle-crash-v1.jsonl", decode_input).size(), 1u);
}

TEST(Golden, EventsAndInputsOfSearches) {
  EXPECT_EQ(replay("events-search-v1.jsonl", decode_event).size(), 11u);
  EXPECT_EQ(replay("inputs-search-v1.jsonl", decode_input).size(), 4u);
}

TEST(Golden, EventsAndInputsOfKeysThatAreSomebodys) {
  EXPECT_EQ(replay("events-keys-v1.jsonl", decode_event).size(), 2u);
  EXPECT_EQ(replay("inputs-keys-v1.jsonl", decode_input).size(), 1u);
}

TEST(Golden, EventsOfDevices) {
  EXPECT_EQ(replay("events-devices-v1.jsonl", decode_event).size(), 3u);
}

TEST(Golden, EventsAndInputsOfDevicesThatVanish) {
  EXPECT_EQ(replay("events-devices-v2.jsonl", decode_event).size(), 1u);
  EXPECT_EQ(replay("inputs-devices-v2.jsonl", decode_input).size(), 2u);
}

TEST(Golden, EventsAndInputsOfTheArchive) {
  EXPECT_EQ(replay("events-archive-v1.jsonl", decode_event).size(), 1u);
  EXPECT_EQ(replay("inputs-archive-v1.jsonl", decode_input).size(), 1u);
}

// None is left out above: a file of events or inputs without a test of its own is read here. A type
// without any line fails: add one with the type.
TEST(Golden, EveryTypeIsThereAndEveryLineIsWrittenAsItWas) {
  std::size_t files = 0;
  std::set<std::string_view> event_types;
  std::set<std::string_view> input_types;
  const std::string folder = std::string(RUNNEL_SOURCE_DIR) + "/test/golden/log";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!name.ends_with(".jsonl")) continue;
    ++files;
    const bool events = name.starts_with("events-");
    EXPECT_NE(events, name.starts_with("inputs-")) << name;
    (events ? event_types : input_types)
        .merge(events ? replay(name, decode_event) : replay(name, decode_input));
  }
  EXPECT_GE(files, 19U);
  EXPECT_EQ(event_types.size(), std::variant_size_v<Event>);
  EXPECT_EQ(input_types.size(), std::variant_size_v<Input>);
}

// Checks what the first lines say, so that a change of meaning is noticed as well as one of
// spelling.
TEST(Golden, VersionOneMeansWhatItMeant) {
  const std::vector<std::string> lines = lines_of("events-v1.jsonl");
  ASSERT_FALSE(lines.empty());
  const Event event = decode_event(MUST(json::parse(lines[0]))).value();
  const auto* submitted = std::get_if<JobSubmitted>(&event);
  ASSERT_NE(submitted, nullptr);
  const JobSpec& spec = *submitted->spec;
  ASSERT_EQ(spec.steps.size(), 2u);
  EXPECT_EQ(spec.steps[0].grace, Duration::seconds(30));
  EXPECT_EQ(spec.steps[0].max_log, Bytes::gibi(1));
  EXPECT_EQ(spec.steps[0].num_nodes, 1);
  EXPECT_EQ(spec.steps[0].task_count, 1);
  EXPECT_EQ(spec.steps[1].resources.milli_cpus, 1500);
  EXPECT_EQ(spec.steps[1].depends_on, std::vector<StepIndex>{StepIndex(0)});
  EXPECT_EQ(spec.steps[1].checkpoint->exit_code, 85);
  EXPECT_EQ(spec.steps[1].envs[1].second, "caf\u00e9 \"x\"\n");
}

}  // namespace
}  // namespace runnel::model
