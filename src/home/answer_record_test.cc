#include "home/answer_record.h"

#include <algorithm>
#include <memory>
#include <variant>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "base/result.h"
#include "env/files.h"
#include "env/remove_tree.h"

namespace runnel::home {
namespace {

Async<http::Reply> well(http::Request) { co_return http::Response::json_text("{\"id\":7}"); }
Async<http::Reply> ill(http::Request) { co_return Error(Errc::kNotFound, "there is none"); }
Async<void> two_lines(http::StreamWriter& out) {
  Result<void> written = co_await out.write("{\"line\":1}\n");
  CO_TRY(std::move(written));
  co_return co_await out.write("{\"line\":2}\n");
}
Async<http::Reply> stream(http::Request) {
  co_return http::StreamResponse::of("application/x-ndjson", two_lines);
}
Async<http::Reply> words(http::Request) { co_return http::Response::text("no JSON"); }

class Sink final : public http::StreamWriter {
 public:
  Async<void> write(std::string bytes) override {
    text += bytes;
    co_return {};
  }
  async::StopToken gone() const override { return {}; }

  std::string text;
};

class AnswerRecordTest : public ::testing::Test {
 protected:
  AnswerRecordTest() {
    router_.get("/well", well);
    router_.get("/ill", ill);
    router_.get("/stream", stream);
    router_.get("/words", words);
  }
  ~AnswerRecordTest() override { EXPECT_TRUE(env::remove_tree(folder_).ok()); }

  http::Reply ask(const char* target) {
    return MUST(loop_->block_on(record_.handle(&router_, http::Request::get(target))));
  }
  std::string written() const {
    const Result<std::string> text = env::read_file(folder_ + "/answers");
    return text.ok() ? *text : "";
  }

  std::string folder_ = MUST(env::make_temporary_directory("runnel-answers-"));
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  http::Router router_;
  AnswerRecord record_{folder_ + "/answers"};
};

TEST_F(AnswerRecordTest, HasWhatWasAnsweredToWhat) {
  EXPECT_EQ(std::get<http::Response>(ask("/well?x=1")).body, "{\"id\":7}");
  EXPECT_EQ(written(), R"({"body":"{\"id\":7}","method":"GET","path":"/well","status":200,)"
                       R"("type":"application/json"})"
                       "\n");
}

TEST_F(AnswerRecordTest, HasProblemsAsTheClientGetsThem) {
  EXPECT_EQ(std::get<http::Response>(ask("/ill")).status, 404);
  EXPECT_NE(written().find(R"("status":404,"type":"application/problem+json")"), std::string::npos)
      << written();
}

TEST_F(AnswerRecordTest, HasEachPieceOfAStreamThatTheClientGets) {
  const auto reply = std::get<http::StreamResponse>(ask("/stream"));
  Sink sink;
  EXPECT_TRUE(loop_->block_on(reply.body(sink)).ok());
  EXPECT_EQ(sink.text, "{\"line\":1}\n{\"line\":2}\n");
  const std::string lines = written();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2) << lines;
}

TEST_F(AnswerRecordTest, HasNothingThatIsNoJson) {
  ask("/words");
  EXPECT_EQ(written(), "");
}

}  // namespace
}  // namespace runnel::home
