#include "volume_server/mount_request.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace runnel::volume_server {
namespace {

class MountRequestTest : public ::testing::Test {
 protected:
  MountRequestTest() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
    holder_ = async::UniqueFd(ends[0]);
    server_ = async::UniqueFd(ends[1]);
  }

  static HandedMount mount() {
    HandedMount handed;
    handed.request = {.volume = "data",
                      .version = "0123456789abcdef",
                      .store = "file:///volumes",
                      .folder = "/mnt",
                      .cache = "/cache",
                      .cache_bytes = 1 << 30,
                      .head = volume::SeenHead{"\"etag\"", "{}"},
                      .takes_over = true,
                      .environment = {"AWS_REGION=here"}};
    handed.connection = async::UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    handed.first_message = async::UniqueFd(::open("/dev/zero", O_RDONLY | O_CLOEXEC));
    return handed;
  }
  Result<HandedMount> received(Duration patience = Duration::minutes(1)) {
    return loop_->block_on(receive_mount(*loop_, server_.get(), patience, {}));
  }
  // As a build does that writes other requests than this one.
  void send_text(const std::string& text) const {
    const auto size = static_cast<std::uint32_t>(text.size());
    ASSERT_EQ(::send(holder_.get(), &size, sizeof size, 0), static_cast<ssize_t>(sizeof size));
    ASSERT_EQ(::send(holder_.get(), text.data(), text.size(), 0), std::ssize(text));
  }
  // Sends four bytes with so many descriptors.
  void send_descriptors(std::size_t count) const {
    const std::vector<int> files(count, holder_.get());
    std::vector<cmsghdr> control(1 + CMSG_SPACE(count * sizeof(int)) / sizeof(cmsghdr));
    control[0].cmsg_level = SOL_SOCKET;
    control[0].cmsg_type = SCM_RIGHTS;
    control[0].cmsg_len = CMSG_LEN(count * sizeof(int));
    std::memcpy(CMSG_DATA(control.data()), files.data(), count * sizeof(int));
    std::array<char, 4> bytes{};
    iovec piece{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(count * sizeof(int));
    ASSERT_EQ(::sendmsg(holder_.get(), &message, 0), 4);
  }

  std::unique_ptr<async::EventLoop> loop_ = MUST(async::EventLoop::create());
  async::UniqueFd holder_;
  async::UniqueFd server_;
};

TEST_F(MountRequestTest, ArrivesWithItsDescriptors) {
  MUST(send_mount(holder_.get(), mount()));
  const HandedMount got = MUST(received());
  EXPECT_EQ(got.request, mount().request);
  char byte = 'x';
  EXPECT_EQ(::read(got.connection.get(), &byte, 1), 0) << "the null device";
  EXPECT_EQ(::read(got.first_message.get(), &byte, 1), 1);
  EXPECT_EQ(byte, '\0');
}

TEST_F(MountRequestTest, ALongOneArrivesWhole) {
  HandedMount handed = mount();
  handed.request.environment.assign(900, "AWS_NAME=" + std::string(1'000, 'x'));
  const std::size_t count = handed.request.environment.size();
  std::thread holder([&] { MUST(send_mount(holder_.get(), handed)); });
  EXPECT_EQ(MUST(received()).request.environment.size(), count);
  holder.join();
}

TEST_F(MountRequestTest, OneForAWarmUpArrivesWithoutAny) {
  MountRequest request = mount().request;
  request.folder.clear();
  request.warm_up = "";
  MUST(send_alone(holder_.get(), request));
  const HandedMount got = MUST(received());
  EXPECT_EQ(got.request, request);
  EXPECT_FALSE(got.connection.valid());
}

TEST_F(MountRequestTest, WhoReadsPacksHandsNothingOver) {
  MountRequest request = mount().request;
  request.folder.clear();
  request.reads_packs = true;
  MUST(send_alone(holder_.get(), request));
  EXPECT_EQ(received().error().code, Errc::kInvalid) << "its keys are shown to nobody";
  request.head.reset();
  MUST(send_alone(holder_.get(), request));
  EXPECT_EQ(MUST(received()).request, request);
  HandedMount with_descriptors = mount();
  with_descriptors.request = request;
  MUST(send_mount(holder_.get(), with_descriptors));
  EXPECT_EQ(received().error().code, Errc::kInvalid);
}

TEST_F(MountRequestTest, MembersOfLaterBuildsArePassedOver) {
  send_text(
      R"({"cache":"/c","later":[1],"store":"file:///v","version":"1","volume":"data","warm_up":""})");
  EXPECT_EQ(MUST(received()).request.cache, "/c");
}

TEST_F(MountRequestTest, OneOfALaterFormatIsRefusedAsSuch) {
  send_text(R"({"format":6,"store":["of another kind"],"volume":"data"})");
  EXPECT_EQ(received().error().code, Errc::kUnsupported);
}

TEST_F(MountRequestTest, AMountWithoutDescriptorsAndAWarmUpOfNoCacheAreRefused) {
  MountRequest request = mount().request;
  MUST(send_alone(holder_.get(), request));
  EXPECT_EQ(received().error().code, Errc::kInvalid);
  request.warm_up = "train";
  request.cache.clear();
  MUST(send_alone(holder_.get(), request));
  EXPECT_EQ(received().error().code, Errc::kInvalid);
}

TEST_F(MountRequestTest, WhatIsNoneIsRefused) {
  ASSERT_EQ(::send(holder_.get(), "GET / HTTP/1.1\r\n", 16, 0), 16);
  EXPECT_EQ(received().error().code, Errc::kInvalid);
}

TEST_F(MountRequestTest, OfASenderThatIsGoneThereIsNone) {
  holder_.reset();
  EXPECT_EQ(received().error().code, Errc::kUnavailable);
}

TEST_F(MountRequestTest, OneThatDoesNotComeIsNotWaitedForForEver) {
  EXPECT_EQ(received(Duration::millis(20)).error().code, Errc::kTimeout);
  ASSERT_EQ(::send(holder_.get(), "\1", 1, 0), 1);
  EXPECT_EQ(received(Duration::millis(20)).error().code, Errc::kTimeout);
}

TEST_F(MountRequestTest, SaysThatDescriptorsWereLost) {
  send_descriptors(8);
  const Error error = received().error();
  EXPECT_EQ(error.code, Errc::kFull);
  EXPECT_EQ(error.field, "ulimit -n");
}

// Progress may be lost on who does not read; how it ended may not.
TEST_F(MountRequestTest, TheLastNewsWaitForWhoDoesNotRead) {
  ASSERT_EQ(::fcntl(server_.get(), F_SETFL, O_NONBLOCK), 0);
  for (int line = 0; line < 5'000; ++line) {
    send_news(server_.get(), {MountNews::Kind::kWarming, "", {line, 20, 10, "0123456789abcdef"}});
  }
  MountNews last;
  std::thread holder([&] {
    ::usleep(20'000);
    while (const auto news = receive_news(holder_.get())) last = *news;
  });
  MUST(loop_->block_on(
      deliver_news(*loop_, server_.get(), {MountNews::Kind::kFailed, "of the disk"}, {})));
  server_.reset();
  holder.join();
  EXPECT_EQ(last.kind, MountNews::Kind::kFailed);
  EXPECT_EQ(last.why, "of the disk");
}

TEST_F(MountRequestTest, TheLastNewsDoNotWaitForWhoIsGone) {
  ASSERT_EQ(::fcntl(server_.get(), F_SETFL, O_NONBLOCK), 0);
  for (int line = 0; line < 5'000; ++line)
    send_news(server_.get(), {MountNews::Kind::kServing, ""});
  holder_.reset();
  MUST(loop_->block_on(deliver_news(*loop_, server_.get(), {MountNews::Kind::kEnded, ""}, {})));
}

TEST_F(MountRequestTest, NewsComeInLines) {
  send_news(server_.get(), {MountNews::Kind::kServing, ""});
  send_news(server_.get(), {MountNews::Kind::kFailed, "two\nlines"});
  send_news(server_.get(), {MountNews::Kind::kWarming, "", {3, 20, 10, "0123456789abcdef"}});
  send_news(server_.get(), {MountNews::Kind::kUnread, "the store\nis away"});
  send_news(server_.get(), {MountNews::Kind::kDamaged, "a pack"});
  send_news(server_.get(), {MountNews::Kind::kEnded, ""});
  server_.reset();
  EXPECT_EQ(receive_news(holder_.get())->kind, MountNews::Kind::kServing);
  const auto expect_next = [this](MountNews::Kind kind, const std::string& why) {
    const auto next = receive_news(holder_.get());
    ASSERT_TRUE(next);
    EXPECT_EQ(next->kind, kind);
    EXPECT_EQ(next->why, why);
  };
  expect_next(MountNews::Kind::kFailed, "two lines");
  const auto warming = receive_news(holder_.get());
  ASSERT_TRUE(warming);
  EXPECT_EQ(warming->kind, MountNews::Kind::kWarming);
  EXPECT_EQ(warming->warm.files, 3);
  EXPECT_EQ(warming->warm.bytes, 20);
  EXPECT_EQ(warming->warm.fetched, 10);
  EXPECT_EQ(warming->warm.version, "0123456789abcdef");
  expect_next(MountNews::Kind::kUnread, "the store is away");
  expect_next(MountNews::Kind::kDamaged, "a pack");
  EXPECT_EQ(receive_news(holder_.get())->kind, MountNews::Kind::kEnded);
  EXPECT_FALSE(receive_news(holder_.get()));
}

}  // namespace
}  // namespace runnel::volume_server
