#include "http/outward_client.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "async/gate.h"
#include "async/socket.h"
#include "base/check.h"
#include "http/testing/served.h"

namespace runnel::http {
namespace {

using testing::Served;

Async<Reply> answer(Request request) {
  if (request.path == "/missing") co_return problem(Error(Errc::kNotFound, "nothing here"));
  if (request.path == "/moved") {
    Response moved = Response::text("elsewhere");
    moved.status = 307;
    moved.headers.add("Location", "/a/b");
    co_return moved;
  }
  Response response = Response::text(std::string(to_string(request.method)) + " " + request.path +
                                     " " + request.body);
  response.headers.add("X-Asked", std::string(request.headers.find("X-Ask").value_or("")));
  response.headers.add("X-Type", std::string(request.headers.find("Content-Type").value_or("-")));
  response.headers.add("X-Signed", std::string(request.headers.find("Authorization").value_or("")));
  co_return response;
}

class OutwardClientTest : public ::testing::Test {
 protected:
  ~OutwardClientTest() override { MUST(loop_->block_on(client_->stop())); }

  OutwardRequest to(const std::string& path, Method method = Method::kGet) const {
    OutwardRequest request;
    request.method = method;
    request.url = served_.tcp_endpoint().to_string() + path;
    return request;
  }
  Result<Response> ask(OutwardRequest request, async::StopToken stop = {}) {
    return loop_->block_on(client_->request(std::move(request), std::move(stop)));
  }

  Served served_{answer};
  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  std::unique_ptr<OutwardClient> client_ = MUST(OutwardClient::create(
      *loop_, {.connections_max = 4, .waiting_max = 40, .silence_max = Duration::seconds(1)}));
};

TEST_F(OutwardClientTest, AsksAndIsAnswered) {
  OutwardRequest request = to("/a/b");
  request.headers.add("X-Ask", "yes");
  const Response response = MUST(ask(std::move(request)));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "GET /a/b ");
  EXPECT_EQ(response.headers.find("x-asked"), "yes");
}

TEST_F(OutwardClientTest, SendsABodyWithoutATypeOfItsOwn) {
  OutwardRequest request = to("/put", Method::kPut);
  request.body = std::make_shared<const std::string>(std::string(300'000, 'x'));
  const Response response = MUST(ask(std::move(request)));
  EXPECT_EQ(response.body, "PUT /put " + std::string(300'000, 'x'));
  EXPECT_EQ(response.headers.find("X-Type"), "-");
  EXPECT_EQ(MUST(ask(to("/empty", Method::kPut))).body, "PUT /empty ");
  EXPECT_EQ(MUST(ask(to("/gone", Method::kDelete))).body, "DELETE /gone ");
}

TEST_F(OutwardClientTest, SignsForAws) {
  OutwardRequest request = to("/signed");
  request.signer = AwsSigner{"eu-west-1", "s3", "AK", "secret"};
  const Response response = MUST(ask(std::move(request)));
  const std::string authorization(response.headers.find("X-Signed").value_or(""));
  EXPECT_NE(authorization.find("AWS4-HMAC-SHA256 Credential=AK/"), std::string::npos);
  EXPECT_NE(authorization.find("/eu-west-1/s3/aws4_request"), std::string::npos) << authorization;
}

TEST_F(OutwardClientTest, FillsTheCallersMemoryExactly) {
  std::string into(7, '?');
  OutwardRequest request = to("/ab");  // "GET /ab "
  request.into = into;
  EXPECT_EQ(ask(request).error().code, Errc::kInvalid) << "there is one byte more";
  into.resize(9);
  request.into = into;
  EXPECT_EQ(ask(request).error().code, Errc::kCorrupt) << "there is one byte less";
  into.resize(8);
  request.into = into;
  EXPECT_TRUE(MUST(ask(request)).body.empty());
  EXPECT_EQ(into, "GET /ab ");
  request.url = to("/missing").url;
  const Response missing = MUST(ask(request));
  EXPECT_EQ(missing.status, 404);
  EXPECT_NE(missing.body.find("nothing here"), std::string::npos) << "an error is no such body";
}

TEST_F(OutwardClientTest, AsksForAHeadWithoutABody) {
  OutwardRequest request = to("/a/b", Method::kHead);
  request.headers.add("X-Ask", "  in between  ");
  const Response response = MUST(ask(std::move(request)));
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.body, "");
  EXPECT_EQ(response.headers.find("X-Asked"), "in between");
}

// A signature is for one server, and keys go to no other.
TEST_F(OutwardClientTest, FollowsNoRedirect) {
  OutwardRequest request = to("/moved");
  request.signer = AwsSigner{"eu-west-1", "s3", "AK", "secret"};
  const Response response = MUST(ask(std::move(request)));
  EXPECT_EQ(response.status, 307);
  EXPECT_EQ(response.headers.find("Location"), "/a/b");
  EXPECT_EQ(response.body, "elsewhere");
}

TEST_F(OutwardClientTest, TwoClientsOfOneProcessShareNothing) {
  const std::unique_ptr<OutwardClient> other = MUST(OutwardClient::create(*loop_, {}));
  MUST(loop_->block_on(other->stop()));
  EXPECT_TRUE(ask(to("/a/b")).ok());
  EXPECT_EQ(loop_->block_on(other->request(to("/a/b"), {})).error().code, Errc::kCancelled);
}

TEST_F(OutwardClientTest, RefusesABodyThatIsLargerThanItMayBe) {
  OutwardRequest request = to("/12345");
  request.body_max = Bytes::count(4);
  EXPECT_EQ(ask(std::move(request)).error().code, Errc::kInvalid);
}

TEST_F(OutwardClientTest, SaysWhatKeptItFromBeingAnswered) {
  OutwardRequest nowhere;
  nowhere.url = "http://127.0.0.1:1/";
  EXPECT_EQ(ask(nowhere).error().code, Errc::kUnavailable);
  nowhere.url = "ftp://127.0.0.1/";
  EXPECT_EQ(ask(nowhere).error().code, Errc::kInvalid);
  nowhere.url = "no url";
  EXPECT_FALSE(ask(nowhere).ok());
}

TEST_F(OutwardClientTest, SendsNoHeaderThatIsMoreThanOne) {
  const std::string with_nul("a\0b", 3);
  for (const std::string& value : {std::string("a\r\nX-Other: b"), std::string("a\nb"), with_nul}) {
    OutwardRequest request = to("/");
    request.headers.add("X-Mine", value);
    const Error error = ask(std::move(request)).error();
    EXPECT_EQ(error.code, Errc::kInvalid);
    EXPECT_EQ(error.message, "the value of the header X-Mine is not one line");
  }
}

TEST_F(OutwardClientTest, AsksManyAtOnceOverFewConnections) {
  async::Gate gate(*loop_);
  std::vector<std::string> bodies(40);
  const auto keep = [](OutwardClient& client, OutwardRequest request,
                       std::string& body) -> Async<void> {
    body = CO_TRY(co_await client.request(std::move(request), {})).body;
    co_return {};
  };
  for (std::size_t number = 0; number < bodies.size(); ++number) {
    MUST(loop_->spawn(gate, keep(*client_, to("/" + std::to_string(number)), bodies[number])));
  }
  while (gate.inside() > 0) MUST(loop_->block_on(loop_->sleep(Duration::millis(1))));
  MUST(loop_->block_on(gate.close()));
  for (std::size_t number = 0; number < bodies.size(); ++number) {
    EXPECT_EQ(bodies[number], "GET /" + std::to_string(number) + " ");
  }
  EXPECT_LE(served_.connections(), 4);
}

// Takes connections and never answers.
class SilentServer {
 public:
  SilentServer() : listener_(MUST(async::listen_tcp("127.0.0.1", 0))) {
    sockaddr_in address = {};
    socklen_t size = sizeof address;
    CHECK(::getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0,
          "a listening socket has an address");
    url_ = "http://127.0.0.1:" + std::to_string(ntohs(address.sin_port)) + "/";
  }
  const std::string& url() const { return url_; }

 private:
  async::UniqueFd listener_;
  std::string url_;
};

TEST_F(OutwardClientTest, GivesUpASilentServer) {
  const SilentServer silent;
  OutwardRequest request;
  request.url = silent.url();
  EXPECT_EQ(ask(std::move(request)).error().code, Errc::kTimeout);
}

TEST_F(OutwardClientTest, StopsWhatIsUnderWay) {
  const SilentServer silent;
  OutwardRequest request;
  request.url = silent.url();
  std::string into(8, '?');
  request.into = into;
  async::StopSource source;
  async::Timer timer(*loop_);
  timer.start(Duration::millis(50), [&source] { source.stop(); });
  EXPECT_EQ(ask(request, source.token()).error().code, Errc::kCancelled);
  EXPECT_EQ(ask(request, source.token()).error().code, Errc::kCancelled) << "never begins";
}

TEST_F(OutwardClientTest, EndsWithWhatIsUnderWay) {
  const SilentServer silent;
  OutwardRequest request;
  request.url = silent.url();
  const std::unique_ptr<OutwardClient> other = MUST(OutwardClient::create(*loop_));
  std::optional<Errc> code;
  const auto keep = [](OutwardClient& client, OutwardRequest what,
                       std::optional<Errc>& kept) -> Async<void> {
    const Result<Response> response = co_await client.request(std::move(what), {});
    kept = response.error().code;
    co_return {};
  };
  async::Gate gate(*loop_);
  MUST(loop_->spawn(gate, keep(*other, request, code)));
  MUST(loop_->block_on(loop_->sleep(Duration::millis(50))));
  MUST(loop_->block_on(other->stop()));
  MUST(loop_->block_on(gate.close()));
  EXPECT_EQ(code, Errc::kCancelled);
}

}  // namespace
}  // namespace runnel::http
