#include "async/stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "async/gate.h"
#include "async/socket.h"
#include "async/testing/loop_test.h"

namespace runnel::async {
namespace {

class StreamTest : public testing::LoopTest {
 protected:
  StreamTest() {
    int ends[2];
    CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0,
          "a pair");
    near_ = std::make_unique<Stream>(loop(), UniqueFd(ends[0]));
    far_ = UniqueFd(ends[1]);
  }
  // Connected TCP ends: ours as a Stream, the peer's as a descriptor.
  void use_tcp() {
    UniqueFd listener = MUST(listen_tcp("127.0.0.1", 0));
    far_ = MUST(connect_tcp("127.0.0.1", MUST(local_port(listener.get()))));
    Listener accepting(loop(), std::move(listener));
    near_ = std::make_unique<Stream>(loop(), MUST(wait(accepting.accept({}))));
  }

  std::unique_ptr<Stream> near_;
  UniqueFd far_;
};

Async<std::string> read_text(Stream& stream) {
  std::array<char, 64> buffer;
  Result<std::size_t> count = co_await stream.read_some(buffer);
  std::size_t size = CO_TRY(std::move(count));
  co_return std::string(buffer.data(), size);
}

Async<void> write_text(Stream& stream, std::string text) {
  Result<void> written = co_await stream.write_all(text);
  co_return written;
}

Async<std::size_t> count_to_end(Stream& stream) {
  std::array<char, 4096> buffer;
  std::size_t total = 0;
  while (true) {
    Result<std::size_t> read = co_await stream.read_some(buffer);
    std::size_t count = CO_TRY(std::move(read));
    if (count == 0) co_return total;
    total += count;
  }
}

TEST_F(StreamTest, ReadsWhatIsThereWaitsForWhatComesAndSeesTheEnd) {
  ASSERT_EQ(::write(far_.get(), "now", 3), 3);
  EXPECT_EQ(wait(read_text(*near_)).value(), "now");
  Timer timer(loop());
  timer.start(Duration::millis(3), [&] { ASSERT_EQ(::write(far_.get(), "later", 5), 5); });
  EXPECT_EQ(wait(read_text(*near_)).value(), "later");
  ::shutdown(far_.get(), SHUT_WR);
  EXPECT_EQ(wait(read_text(*near_)).value(), "");
  EXPECT_TRUE(wait(write_text(*near_, "still open")).ok());
}

TEST_F(StreamTest, WritesMoreThanTheKernelHoldsWhileThePeerReads) {
  constexpr std::size_t kSize = std::size_t{8} << 20;
  Stream reader(loop(), std::move(far_));
  Gate gate(loop());
  ASSERT_TRUE(loop().spawn(gate, write_text(*near_, std::string(kSize, 'x'))).ok());
  Timer timer(loop());
  timer.start(Duration::millis(500), [&] { near_->interrupt(); });
  EXPECT_EQ(wait(count_to_end(reader)).value(), kSize);
  ASSERT_TRUE(wait(gate.close()).ok());
}

TEST_F(StreamTest, APeerThatLeftIsUnavailableAndNoSignalKillsUs) {
  far_.reset();
  EXPECT_EQ(wait(write_text(*near_, "x")).error().code, Errc::kUnavailable);
}

TEST_F(StreamTest, APeerThatLeavesBreaksAPendingWrite) {
  Timer timer(loop());
  timer.start(Duration::millis(5), [&] { far_.reset(); });
  Result<void> written = wait(write_text(*near_, std::string(std::size_t{8} << 20, 'x')));
  EXPECT_EQ(written.error().code, Errc::kUnavailable);
}

TEST_F(StreamTest, InterruptEndsAPendingRead) {
  Timer timer(loop());
  timer.start(Duration::millis(3), [&] { near_->interrupt(); });
  EXPECT_EQ(wait(read_text(*near_)).value(), "");
}

TEST_F(StreamTest, HangupComesWhenAUnixPeerClosesButNotWhenItOnlyStopsSending) {
  ASSERT_EQ(::write(far_.get(), "unread", 6), 6);
  ::shutdown(far_.get(), SHUT_WR);
  bool closed = false;
  Timer timer(loop());
  timer.start(Duration::millis(10), [&] {
    closed = true;
    far_.reset();
  });
  ASSERT_TRUE(wait(near_->hangup({})).ok());
  EXPECT_TRUE(closed);
  EXPECT_EQ(wait(read_text(*near_)).value(), "unread") << "hangup() must not read";
}

TEST_F(StreamTest, HangupComesAtOnceWhenThePeerHasGone) {
  far_.reset();
  EXPECT_TRUE(wait(near_->hangup({})).ok());
}

TEST_F(StreamTest, HangupComesWhenATcpPeerCloses) {
  use_tcp();
  Timer timer(loop());
  timer.start(Duration::millis(5), [&] { far_.reset(); });
  EXPECT_TRUE(wait(near_->hangup({})).ok());
}

TEST_F(StreamTest, HangupOfATcpPeerIsSeenBehindUnreadInput) {
  use_tcp();
  ASSERT_EQ(::write(far_.get(), "unread", 6), 6);
  Timer timer(loop());
  timer.start(Duration::millis(20), [&] { far_.reset(); });
  EXPECT_TRUE(wait(near_->hangup({})).ok());
}

TEST_F(StreamTest, HangupIsCancelled) {
  StopSource source;
  Timer timer(loop());
  timer.start(Duration::millis(3), [&] { source.stop(); });
  EXPECT_EQ(wait(near_->hangup(source.token())).error().code, Errc::kCancelled);
  ASSERT_EQ(::write(far_.get(), "x", 1), 1);
  EXPECT_EQ(wait(read_text(*near_)).value(), "x") << "the stream is usable after a cancelled wait";
}

TEST_F(StreamTest, AcceptWaitsAndIsCancelled) {
  UniqueFd socket = MUST(listen_tcp("127.0.0.1", 0));
  std::uint16_t port = MUST(local_port(socket.get()));
  Listener listener(loop(), std::move(socket));
  UniqueFd client;
  Timer timer(loop());
  timer.start(Duration::millis(3), [&] { client = MUST(connect_tcp("127.0.0.1", port)); });
  EXPECT_TRUE(wait(listener.accept({})).ok());
  StopSource source;
  timer.start(Duration::millis(3), [&] { source.stop(); });
  EXPECT_EQ(wait(listener.accept(source.token())).error().code, Errc::kCancelled);
}

}  // namespace
}  // namespace runnel::async
