#include "home/daemon_log.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "home/daemon_log_reader.h"

namespace runnel::home {
namespace {

constexpr Duration kFlush = Duration::seconds(20);

class DaemonLogTest : public ::testing::Test {
 protected:
  void flush() { MUST(loop_->block_on(log_->flush(kFlush))); }
  void begin_anew() { log_ = std::make_unique<DaemonLog>(*loop_, env::real_clock(), home_); }
  std::vector<std::string> messages() {
    std::vector<std::string> found;
    for (const json::Value& line : MUST(reader_.next())) {
      found.push_back(line.find("message")->as_text());
    }
    return found;
  }

  env::testing::TemporaryDirectory folder_;
  Home home_{folder_.path()};
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  std::unique_ptr<DaemonLog> log_ = std::make_unique<DaemonLog>(*loop_, env::real_clock(), home_);
  DaemonLogReader reader_{home_};
};

TEST_F(DaemonLogTest, AHomeWithoutLinesHasNone) { EXPECT_TRUE(messages().empty()); }

TEST_F(DaemonLogTest, ALineHasItsTimeLevelPartMessageAndFields) {
  log_->add(LogLevel::kWarning, "http", "a \"request\"\nfailed",
            {{"status", json::Value::integer(507)}});
  flush();
  const std::vector<json::Value> lines = MUST(reader_.next());
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find("message")->as_text(), "a \"request\"\nfailed");
  EXPECT_EQ(lines[0].find("part")->as_text(), "http");
  EXPECT_EQ(lines[0].find("status")->as_int(), 507);
  EXPECT_TRUE(parse_rfc3339(lines[0].find("time")->as_text()).ok());
  EXPECT_EQ(level_of(lines[0]), LogLevel::kWarning);
}

TEST_F(DaemonLogTest, ManyLinesArriveOnceAndInOrder) {
  std::vector<std::string> expected;
  std::vector<std::string> found;
  for (int i = 0; i < 3'000; ++i) {
    expected.push_back(std::to_string(i));
    log_->add(LogLevel::kInfo, "home", expected.back());
    if (i % 700 != 0) continue;
    flush();
    for (std::string& message : messages()) found.push_back(std::move(message));
  }
  flush();
  for (std::string& message : messages()) found.push_back(std::move(message));
  EXPECT_EQ(found, expected);
}

TEST_F(DaemonLogTest, WhatAKillCutOffHarmsNoOtherLine) {
  log_->add(LogLevel::kInfo, "home", "first");
  flush();
  MUST(env::append_file(home_.log_lines(), "{\"message\":\"cut o"));
  begin_anew();
  log_->add(LogLevel::kInfo, "home", "second");
  flush();
  EXPECT_EQ(messages(), (std::vector<std::string>{"first", "second"}));
}

TEST_F(DaemonLogTest, AFullFileBecomesTheOlderOne) {
  const std::string much(100'000, 'x');
  std::size_t found = 0;
  for (int i = 0; i < 100; ++i) {
    log_->add(LogLevel::kInfo, "home", much);
    flush();
    found += messages().size();
  }
  EXPECT_EQ(found, 100U);
  const Bytes kept = MUST(env::file_info(home_.log_lines())).size +
                     MUST(env::file_info(home_.older_log_lines())).size;
  EXPECT_LE(kept, DaemonLog::kFileMax + DaemonLog::kFileMax + Bytes::mebi(1));
  DaemonLogReader late(home_);
  const std::size_t left = MUST(late.next()).size();
  EXPECT_GT(left, 40U);
  EXPECT_LT(left, 100U);
}

// A pipe without a reader takes nothing, as a disk that does not answer.
TEST_F(DaemonLogTest, ADiskThatDoesNotAnswerHoldsNobodyUpAndWhatIsLostIsCounted) {
  ASSERT_EQ(::mkfifo(home_.log_lines().c_str(), 0600), 0);
  for (std::size_t i = 0; i < DaemonLog::kWaitingMax + 11; ++i) {
    log_->add(LogLevel::kInfo, "home", "waits");
  }
  MUST(loop_->block_on(log_->flush(Duration::millis(50))));
  {
    std::ifstream pipe(home_.log_lines());  // The disk answers again.
    std::string line;
    ASSERT_TRUE(std::getline(pipe, line));
    EXPECT_NE(line.find("waits"), std::string::npos);
    MUST(env::remove_file(home_.log_lines()));
  }
  flush();
  log_->add(LogLevel::kInfo, "home", "goes on");
  flush();
  const std::vector<json::Value> lines = MUST(reader_.next());
  ASSERT_EQ(lines.size(), DaemonLog::kWaitingMax + 1);
  EXPECT_EQ(lines.back().find("lost")->as_int(), 10);
}

TEST_F(DaemonLogTest, WhatTheDiskDoesNotTakeWaitsForTheNextLine) {
  MUST(env::make_directories(home_.log_lines()));
  for (const char* waits : {"first", "second"}) {
    log_->add(LogLevel::kInfo, "home", waits);
    flush();
  }
  ASSERT_EQ(::rmdir(home_.log_lines().c_str()), 0);
  log_->add(LogLevel::kInfo, "home", "third");
  flush();
  EXPECT_EQ(messages(), (std::vector<std::string>{"first", "second", "third"}));
}

}  // namespace
}  // namespace runnel::home
