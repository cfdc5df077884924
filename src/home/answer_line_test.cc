#include "home/answer_line.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "env/clock.h"
#include "env/testing/temporary_directory.h"
#include "home/daemon_log_reader.h"

namespace runnel::home {
namespace {

class AnswerLine : public ::testing::Test {
 protected:
  std::vector<json::Value> told(const Result<http::Reply>& reply, Duration took) {
    tell_answer(log_, "GET /api/v1/jobs", reply, took);
    MUST(loop_->block_on(log_.flush(Duration::seconds(20))));
    return MUST(reader_.next());
  }

  env::testing::TemporaryDirectory folder_;
  Home home_{folder_.path()};
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  DaemonLog log_{*loop_, env::real_clock(), home_};
  DaemonLogReader reader_{home_};
};

TEST_F(AnswerLine, AQuickAnswerAndARefusalAreNotTold) {
  EXPECT_TRUE(told(http::Reply(http::Response()), Duration::millis(999)).empty());
  EXPECT_TRUE(told(Error(Errc::kNotFound, "there is no such job"), Duration::millis(1)).empty());
}

TEST_F(AnswerLine, ASlowAnswerIsToldWithItsTime) {
  const auto lines = told(http::Reply(http::Response()), Duration::millis(1'200));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(level_of(lines[0]), LogLevel::kWarning);
  EXPECT_EQ(lines[0].find("took_ms")->as_int(), 1'200);
  EXPECT_EQ(lines[0].find("request")->as_text(), "GET /api/v1/jobs");
}

TEST_F(AnswerLine, AnAnswerThatFailedIsTold) {
  const Error away(Errc::kUnavailable, "the event log is being opened anew");
  const auto lines = told(away, Duration::millis(3));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(level_of(lines[0]), LogLevel::kError);
  EXPECT_EQ(lines[0].find("status")->as_int(), http::problem(away).status);
}

TEST_F(AnswerLine, AStreamMayTakeItsTime) {
  EXPECT_TRUE(told(http::Reply(http::StreamResponse()), Duration::minutes(5)).empty());
}

}  // namespace
}  // namespace runnel::home
