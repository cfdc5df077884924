#include "async/stream.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>
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

Async<void> count_to_end_ignoring(Stream& stream) {
  Result<std::size_t> counted = co_await count_to_end(stream);
  CO_TRY(std::move(counted));
  co_return {};
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

// Echoes everything, and ends its output when its input ends.
Async<void> echo_all(Stream& stream) {
  std::array<char, 3000> buffer;
  while (true) {
    Result<std::size_t> read = co_await stream.read_some(buffer);
    std::size_t count = CO_TRY(std::move(read));
    if (count == 0) break;
    Result<void> written = co_await stream.write_all(std::string_view(buffer.data(), count));
    CO_TRY(std::move(written));
  }
  ::shutdown(stream.descriptor(), SHUT_WR);
  co_return {};
}

Async<void> send_in_pieces(Stream& stream, std::string bytes, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::string_view rest = bytes;
  while (!rest.empty()) {
    std::string_view piece = rest.substr(0, 1 + random() % 20'000);
    Result<void> written = co_await stream.write_all(piece);
    CO_TRY(std::move(written));
    rest.remove_prefix(piece.size());
  }
  ::shutdown(stream.descriptor(), SHUT_WR);
  co_return {};
}

Async<std::string> collect(Stream& stream) {
  std::array<char, 7000> buffer;
  std::string all;
  while (true) {
    Result<std::size_t> read = co_await stream.read_some(buffer);
    std::size_t count = CO_TRY(std::move(read));
    if (count == 0) co_return all;
    all.append(buffer.data(), count);
  }
}

TEST_F(StreamTest, BytesSurviveBothDirectionsAtOnce) {
  Stream far(loop(), std::move(far_));
  std::mt19937 random(1);
  std::string bytes(std::size_t{3} << 20, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  Gate gate(loop());
  MUST(loop().spawn(gate, echo_all(far)));
  MUST(loop().spawn(gate, send_in_pieces(*near_, bytes, 2)));
  std::string back = wait(collect(*near_)).value();
  MUST(wait(gate.close()));
  EXPECT_TRUE(back == bytes) << back.size() << " of " << bytes.size() << " bytes";
}

TEST_F(StreamTest, DestroyingAStreamThatIsReadEndsTheProcess) {
  EXPECT_DEATH(
      {
        Gate gate(loop());
        (void)loop().spawn(gate, count_to_end_ignoring(*near_));
        settle();
        near_.reset();
      },
      "destroyed while it was read");
}

}  // namespace
}  // namespace runnel::async
