#include "home/answer_record.h"

#include <utility>
#include <variant>

#include "base/check.h"
#include "env/files.h"
#include "env/process.h"
#include "json/value.h"

namespace runnel::home {

// What is asked and how it is answered.
struct AnswerRecord::Line {
  std::string method;
  std::string path;
  int status = 200;
  std::string type;
};

namespace {

std::string type_of_answer(const http::Headers& headers) {
  return std::string(headers.find("content-type").value_or(""));
}

}  // namespace

// The client's stream, with each piece written down before it leaves.
class AnswerRecord::Writer final : public http::StreamWriter {
 public:
  Writer(const AnswerRecord& record, const Line& line, http::StreamWriter& out)
      : record_(record), line_(line), out_(out) {}

  Async<void> write(std::string bytes) override {
    record_.write(line_, bytes);
    return out_.write(std::move(bytes));
  }
  async::StopToken gone() const override { return out_.gone(); }

 private:
  const AnswerRecord& record_;
  const Line& line_;
  http::StreamWriter& out_;
};

std::unique_ptr<AnswerRecord> AnswerRecord::of_environment() {
  const std::string file = env::variable("RUNNEL_ANSWERS").value_or("");
  return file.empty() ? nullptr : std::make_unique<AnswerRecord>(file);
}

void AnswerRecord::write(const Line& line, const std::string& body) const {
  const bool is_json = line.type.find("json") != std::string::npos;
  if (!is_json || body.empty() || body.size() > kBodyMax) return;
  json::Value out = json::Value::object();
  out.set("body", json::Value::text(body));
  out.set("method", json::Value::text(line.method));
  out.set("path", json::Value::text(line.path));
  out.set("status", json::Value::integer(line.status));
  out.set("type", json::Value::text(line.type));
  const Result<void> written = env::append_file(file_, out.dump() + "\n");
  (void)written;  // A test has filled the disk.
}

Async<void> AnswerRecord::write_stream(Body body, Line line, http::StreamWriter& out) const {
  CHECK(body != nullptr, "a stream without a body");
  Writer writer(*this, line, out);
  co_return co_await body(writer);
}

Async<http::Reply> AnswerRecord::handle(const http::Router* router, http::Request request) const {
  CHECK(router != nullptr, "answers of no router");
  CHECK(!file_.empty(), "a record without a file");
  Line line{std::string(http::to_string(request.method)), request.path, 200, ""};
  Result<http::Reply> reply = co_await router->handle(std::move(request));
  if (!reply.ok()) reply = http::Reply(http::problem(reply.error()));
  if (const auto* response = std::get_if<http::Response>(&*reply)) {
    line.status = response->status;
    line.type = type_of_answer(response->headers);
    write(line, response->body);
    co_return reply;
  }
  auto& stream = std::get<http::StreamResponse>(*reply);
  line.status = stream.status;
  line.type = type_of_answer(stream.headers);
  stream.body = [this, body = std::move(stream.body), line](http::StreamWriter& out) {
    return write_stream(body, line, out);
  };
  co_return reply;
}

}  // namespace runnel::home
