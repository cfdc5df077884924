// A fuzzer in small: texts made from the golden files by cutting, copying and swapping give a sound
// job or errors with place and remedy. fuzz/yaml_fuzz.cc goes on from here.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "model/codec.h"
#include "spec/job_file.h"
#include "spec/nodes_file.h"

namespace runnel::spec {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> golden_texts() {
  std::vector<fs::path> files;
  const fs::path folder = fs::path(RUNNEL_SOURCE_DIR) / "test" / "golden";
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> texts;
  for (const fs::path& file : files) {
    std::ostringstream text;
    text << std::ifstream(file, std::ios::binary).rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

// How many texts a run tries; RUNNEL_MUTATIONS asks for more.
int rounds() {
  const char* wanted = std::getenv("RUNNEL_MUTATIONS");
  return wanted == nullptr ? 300 : std::stoi(wanted);
}

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed), texts_(golden_texts()) {}

  std::string next() {
    std::string text = pick();
    for (std::uint64_t changes = 1 + random_() % 4; changes > 0; --changes) change(text);
    return text;
  }

 private:
  const std::string& pick() { return texts_[random_() % texts_.size()]; }
  std::size_t place(const std::string& text) { return random_() % (text.size() + 1); }

  void change(std::string& text) {
    static constexpr std::string_view kMarks = ":-{}[]\"'|>&*!#%@`,?~\n\t \r\\$.0aA\x80\xC3\x01";
    const std::size_t at = place(text);
    switch (random_() % 6) {
      case 0: text.insert(at, 1, kMarks[random_() % kMarks.size()]); break;
      case 1: text.erase(at, 1 + random_() % 8); break;
      case 2: text.insert(at, text.substr(place(text), 1 + random_() % 24)); break;
      case 3:
        if (at < text.size()) text[at] = kMarks[random_() % kMarks.size()];
        break;
      case 4: text = text.substr(0, at) + pick(); break;
      default: text.resize(at); break;
    }
  }

  std::mt19937_64 random_;
  std::vector<std::string> texts_;
};

void expect_told(const std::vector<Error>& errors, const std::string& text) {
  for (const Error& error : errors) {
    EXPECT_TRUE(error.where.known()) << error.to_string() << "\n" << text;
    EXPECT_FALSE(error.message.empty()) << text;
    EXPECT_FALSE(error.hint.empty()) << error.to_string() << "\n" << text;
  }
}

TEST(Mutation, EveryTextIsAJobOrErrors) {
  Mutator mutator(1);
  int jobs = 0;
  for (int round = rounds(); round > 0; --round) {
    const std::string text = mutator.next();
    const JobFileReport report = parse_job_file_all(text, {});
    ASSERT_EQ(report.spec.has_value(), report.errors.empty()) << text;
    expect_told(report.errors, text);
    if (!report.spec) continue;
    ++jobs;
    const json::Value document = MUST(json::parse(model::encode_text(*report.spec)));
    ASSERT_EQ(MUST(model::decode_job_spec(document, "")), *report.spec) << text;
  }
  EXPECT_GT(jobs, 0) << "some texts must still be jobs, or the test sees little";
}

TEST(Mutation, EveryTextIsANodesFileOrAnError) {
  Mutator mutator(2);
  for (int round = rounds() / 3; round > 0; --round) {
    const std::string text = mutator.next();
    const auto nodes = parse_nodes_file(text, "nodes.yaml");
    if (!nodes.ok()) expect_told({nodes.error()}, text);
  }
}

// The start of a file is what an editor shows while it is typed.
TEST(Mutation, EveryBeginningOfAFileIsTold) {
  for (const std::string& text : golden_texts()) {
    for (std::size_t size = 0; size < text.size(); size += 3) {
      expect_told(parse_job_file_all(text.substr(0, size), {}).errors, text.substr(0, size));
    }
  }
}

}  // namespace
}  // namespace runnel::spec
