#include "volume/folder_bench.h"

#include <sys/stat.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "env/files.h"
#include "env/testing/temporary_directory.h"

namespace runnel::volume {
namespace {

using ::testing::ElementsAre;

class FolderBenchTest : public ::testing::Test {
 protected:
  void keep(const std::string& name, std::size_t bytes) {
    const std::string path = folder_.path() + "/" + name;
    MUST(env::make_directories(env::parent_of(path)));
    MUST(env::write_file_atomically(path, std::string(bytes, 'x')));
  }
  std::vector<BenchRow> bench(const BenchLimits& limits = {}) {
    return MUST(bench_folder(env::real_clock(), folder_.path(), limits));
  }

  env::testing::TemporaryDirectory folder_;
};

std::vector<std::string> names_of(const std::vector<BenchRow>& rows) {
  std::vector<std::string> names;
  for (const BenchRow& row : rows) names.push_back(row.name);
  return names;
}

TEST_F(FolderBenchTest, ReadsSmallAndLongFiles) {
  keep("a/1", 100);
  keep("a/2", BenchLimits::kSmallMax);
  keep("b/long", 3'000'000);
  keep("b/empty", 0);
  const auto rows = bench();
  ASSERT_THAT(names_of(rows), ElementsAre("list", "small", "long", "random"));
  EXPECT_EQ(rows[0].count, 6);
  EXPECT_EQ(rows[1].count, 2);
  EXPECT_EQ(rows[1].bytes, BenchLimits::kSmallMax + 100);
  EXPECT_EQ(rows[2].bytes, 3'000'000);
  EXPECT_EQ(rows[3].bytes, 2'000 * BenchLimits::kRandomBytes);
}

TEST_F(FolderBenchTest, WhatNoFileIsForIsLeftOut) {
  EXPECT_THAT(names_of(bench()), ElementsAre("list"));
  keep("one", 1);
  EXPECT_THAT(names_of(bench()), ElementsAre("list", "small"));
}

TEST_F(FolderBenchTest, ReadsNeitherLinksNorPipes) {
  keep("a", 1);
  keep("folder/c", 1);
  ASSERT_EQ(::symlink("a", (folder_.path() + "/link").c_str()), 0);
  ASSERT_EQ(::mkfifo((folder_.path() + "/pipe").c_str(), 0600), 0);
  const auto rows = bench();
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].count, 5);
  EXPECT_EQ(rows[1].count, 2);
}

TEST_F(FolderBenchTest, EndsAtItsLimits) {
  for (int number = 0; number < 20; ++number) keep(std::to_string(number), 200'000);
  BenchLimits limits;
  limits.entries = 10;
  limits.bytes = 500'000;
  limits.random_reads = 7;
  const auto rows = bench(limits);
  ASSERT_THAT(names_of(rows), ElementsAre("list", "long", "random"));
  EXPECT_EQ(rows[0].count, 10);
  EXPECT_EQ(rows[1].count, 3);
  EXPECT_EQ(rows[2].count, 7);
  limits.row = Duration();
  EXPECT_EQ(bench(limits).front().count, 0) << "no time";
}

TEST_F(FolderBenchTest, NamesAFolderThatIsNone) {
  keep("file", 1);
  EXPECT_FALSE(bench_folder(env::real_clock(), folder_.path() + "/file", {}).ok());
  EXPECT_EQ(bench_folder(env::real_clock(), folder_.path() + "/none", {}).error().code,
            Errc::kNotFound);
}

}  // namespace
}  // namespace runnel::volume
