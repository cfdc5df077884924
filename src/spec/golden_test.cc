// The files below test/golden: every bad one with the lines that `runnel validate` prints for it,
// every good one with its canonical JSON. UPDATE_GOLDEN=1 writes what is seen; read the difference.
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "model/codec.h"
#include "spec/job_file.h"
#include "spec/nodes_file.h"

namespace runnel::spec {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(RUNNEL_SOURCE_DIR) / "test" / "golden";

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void expect_golden(const fs::path& path, const std::string& actual) {
  if (std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  ASSERT_TRUE(fs::exists(path)) << path << " is missing: run once with UPDATE_GOLDEN=1";
  EXPECT_EQ(read_file(path), actual) << path;
}

ParseContext context_for(const fs::path& path) {
  ParseContext context;
  context.file = path.filename().string();
  context.workdir = "/project";
  context.nodes = MUST(parse_nodes_file(read_file(kFolder / "nodes.yaml"), "nodes.yaml"));
  return context;
}

std::string lines_of(const std::vector<Error>& errors) {
  std::string lines;
  for (const Error& error : errors) lines += error.to_string() + "\n";
  return lines;
}

std::vector<fs::path> files_in(const char* folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kFolder / folder)) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<fs::path> recipes() {
  std::vector<fs::path> files;
  for (const auto& entry :
       fs::directory_iterator(fs::path(RUNNEL_SOURCE_DIR) / "examples" / "hyper")) {
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string test_name(const testing::TestParamInfo<fs::path>& info) {
  std::string name = "f" + info.param.stem().string();
  std::replace_if(name.begin(), name.end(), [](char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

class BadFile : public testing::TestWithParam<fs::path> {};

TEST_P(BadFile, IsRefusedInWords) {
  const ParseContext context = context_for(GetParam());
  const JobFileReport report = parse_job_file_all(read_file(GetParam()), context);
  EXPECT_FALSE(report.spec.has_value());
  ASSERT_FALSE(report.errors.empty());
  for (const Error& error : report.errors) {
    EXPECT_TRUE(error.code == Errc::kInvalid || error.code == Errc::kUnsupported);
    EXPECT_TRUE(error.where.known()) << "no place: " << error.to_string();
    EXPECT_EQ(error.where.file, context.file);
    EXPECT_FALSE(error.hint.empty()) << "no remedy: " << error.to_string();
  }
  expect_golden(fs::path(GetParam()).replace_extension(".txt"), lines_of(report.errors));
}

TEST_P(BadFile, FirstErrorIsTheFirstOfAll) {
  const ParseContext context = context_for(GetParam());
  const std::string text = read_file(GetParam());
  const Result<model::JobSpec> one = parse_job_file(text, context);
  ASSERT_FALSE(one.ok());
  EXPECT_EQ(one.error(), parse_job_file_all(text, context).errors.front());
}

INSTANTIATE_TEST_SUITE_P(Golden, BadFile, testing::ValuesIn(files_in("bad")), test_name);

class GoodFile : public testing::TestWithParam<fs::path> {};

TEST_P(GoodFile, BecomesItsModel) {
  ParseContext context = context_for(GetParam());
  const JobFileReport report = parse_job_file_all(read_file(GetParam()), context);
  ASSERT_TRUE(report.spec.has_value()) << lines_of(report.errors);
  EXPECT_TRUE(report.errors.empty());
  const std::string json = model::encode_text(*report.spec);
  expect_golden(fs::path(GetParam()).replace_extension(".json"), json + "\n");
  const json::Value document = MUST(json::parse(json));
  EXPECT_EQ(MUST(model::decode_job_spec(document, "")), *report.spec) << "reads back the same";
}

INSTANTIATE_TEST_SUITE_P(Golden, GoodFile, testing::ValuesIn(files_in("good")), test_name);

// Hyper's three documented kinds of recipes and their twins without GPUs: what `runnel import`
// prints.
class Recipe : public testing::TestWithParam<fs::path> {};

TEST_P(Recipe, IsImported) {
  ParseContext context = context_for(GetParam());
  context.look_only = true;
  const std::string text = read_file(GetParam());
  const ImportReport report = import_file(text, context);
  ASSERT_TRUE(report.errors.empty()) << lines_of(report.errors);
  fs::path golden = kFolder / "recipes" / GetParam().filename();
  expect_golden(golden.replace_extension(".txt"), report.text + lines_of(report.notes));
  const JobFileReport as_recipe = parse_job_file_all(text, context);
  context.nodes.clear();  // Our own form's demands on machines are no notes.
  const JobFileReport as_job = parse_job_file_all(report.text, context);
  ASSERT_TRUE(as_job.spec.has_value()) << lines_of(as_job.errors);
  EXPECT_EQ(*as_recipe.spec, *as_job.spec) << "both forms say the same";
}

INSTANTIATE_TEST_SUITE_P(Golden, Recipe, testing::ValuesIn(recipes()), test_name);

TEST(Golden, ARecipeIsRefusedWhereNoMachineCanRunIt) {
  const fs::path recipe = recipes().front().parent_path() / "multi_gpu.yaml";
  const JobFileReport report = parse_job_file_all(read_file(recipe), context_for(recipe));
  ASSERT_EQ(report.errors.size(), 1u);
  EXPECT_EQ(report.errors[0].field, "experiments.imagenet.hardware.gpu");
}

TEST(Golden, AJobFileOfOursIsNotImported) {
  const ImportReport report = import_file("run: true", {});
  ASSERT_EQ(report.errors.size(), 1u);
  EXPECT_EQ(report.errors[0].message, "this is a job file of Runnel already");
}

TEST(Golden, EveryExampleIsValid) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(RUNNEL_SOURCE_DIR) / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    const JobFileReport report =
        parse_job_file_all(read_file(entry.path()), context_for(entry.path()));
    EXPECT_TRUE(report.errors.empty()) << lines_of(report.errors);
  }
  EXPECT_GE(count, 2u);
}

TEST(Golden, ThereAreFortyBadFiles) { EXPECT_GE(files_in("bad").size(), 40u); }

TEST(Golden, ALargeFileIsRefusedBySize) {
  const std::string text = "run: echo\n#" + std::string(10'000'000, 'x') + "\n";
  const Result<model::JobSpec> job = parse_job_file(text, {});
  ASSERT_FALSE(job.ok());
  EXPECT_EQ(
      job.error().to_string(),
      "job.yaml:1:1: the file has 10000012 bytes, more than 4MiB; keep data in files of their "
      "own and name them in `run`");
}

}  // namespace
}  // namespace runnel::spec
