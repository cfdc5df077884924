#include "async/socket.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "base/check.h"

namespace runnel::async {
namespace {

namespace fs = std::filesystem;

class SocketTest : public ::testing::Test {
 protected:
  SocketTest() {
    std::string pattern = (fs::temp_directory_path() / "runnel-socket-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~SocketTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name = "s") const { return (folder_ / name).string(); }
  // A folder so deep that no socket address holds its path.
  std::string long_path() const {
    fs::path deep = folder_ / std::string(100, 'a') / std::string(100, 'b');
    fs::create_directories(deep);
    return (deep / "daemon.sock").string();
  }
  static bool accepts(const UniqueFd& listener) {
    UniqueFd peer(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
    return peer.valid();
  }

  fs::path folder_;
};

TEST_F(SocketTest, AUnixSocketListensIsPrivateAndLeavesNoOtherFile) {
  UniqueFd listener = MUST(listen_unix(path()));
  struct stat status{};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 0777, 0600u);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
  UniqueFd client = MUST(connect_unix(path()));
  EXPECT_TRUE(accepts(listener));
  EXPECT_NE(::fcntl(client.get(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(client.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(SocketTest, APathLongerThanAnAddressWorks) {
  std::string deep = long_path();
  ASSERT_GT(deep.size(), 107u);
  EXPECT_EQ(connect_unix(deep).error().code, Errc::kUnavailable);
  UniqueFd listener = MUST(listen_unix(deep));
  UniqueFd client = MUST(connect_unix(deep));
  EXPECT_TRUE(accepts(listener));
  remove_unix_socket(deep, listener);
  EXPECT_FALSE(fs::exists(deep));
}

TEST_F(SocketTest, ANameTooLongForAnAddressIsRefusedWithItsLimit) {
  Result<UniqueFd> refused = listen_unix(path(std::string(150, 'n')));
  EXPECT_EQ(refused.error().code, Errc::kInvalid);
  EXPECT_NE(refused.error().message.find("80"), std::string::npos);
}

TEST_F(SocketTest, ALiveServerIsAConflictAndADeadOnesFileIsReplaced) {
  UniqueFd first = MUST(listen_unix(path()));
  Result<UniqueFd> second = listen_unix(path());
  EXPECT_EQ(second.error().code, Errc::kConflict);
  first.reset();
  EXPECT_TRUE(fs::exists(path()));
  UniqueFd third = MUST(listen_unix(path()));
  EXPECT_TRUE(connect_unix(path()).ok());
}

TEST_F(SocketTest, WhatAKilledServerLeftBesideGoes) {
  const pid_t dead = ::fork();
  if (dead == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(dead, nullptr, 0), dead);
  const std::string left = path(".socket-" + std::to_string(dead) + "-1");
  const std::string living = path(".socket-" + std::to_string(::getpid()) + "-99");
  for (const std::string& name : {left, living, path(".socket-" + std::to_string(dead))}) {
    std::ofstream(name) << "text";
  }
  MUST(listen_unix(path()));
  EXPECT_FALSE(fs::exists(left));
  EXPECT_TRUE(fs::exists(living));
  EXPECT_TRUE(fs::exists(path(".socket-" + std::to_string(dead)))) << "no name of ours";
}

TEST_F(SocketTest, AFileThatIsNoSocketIsLeftAlone) {
  std::ofstream(path()) << "precious";
  EXPECT_EQ(listen_unix(path()).error().code, Errc::kConflict);
  EXPECT_EQ(fs::file_size(path()), 8u);
}

TEST_F(SocketTest, NobodyListeningIsUnavailable) {
  EXPECT_EQ(connect_unix(path()).error().code, Errc::kUnavailable);
  {
    UniqueFd dead = MUST(listen_unix(path()));
  }
  EXPECT_EQ(connect_unix(path()).error().code, Errc::kUnavailable);
  EXPECT_EQ(connect_unix("/nonexistent/folder/s").error().code, Errc::kUnavailable);
}

TEST_F(SocketTest, BadPathsAreInvalid) {
  EXPECT_EQ(connect_unix("").error().code, Errc::kInvalid);
  EXPECT_EQ(connect_unix(std::string("a\0b", 3)).error().code, Errc::kInvalid);
  EXPECT_EQ(listen_unix("/nonexistent/folder/s").error().code, Errc::kNotFound);
}

TEST_F(SocketTest, RemoveTakesOnlyItsOwnFile) {
  UniqueFd first = MUST(listen_unix(path()));
  fs::rename(path(), path("moved"));
  UniqueFd second = MUST(listen_unix(path()));
  remove_unix_socket(path(), first);
  EXPECT_TRUE(fs::exists(path())) << "another server's socket was removed";
  remove_unix_socket(path(), second);
  EXPECT_FALSE(fs::exists(path()));
}

TEST_F(SocketTest, TcpListensOnAFreePortAndRefusesATakenOne) {
  UniqueFd listener = MUST(listen_tcp("127.0.0.1", 0));
  std::uint16_t port = MUST(local_port(listener.get()));
  EXPECT_NE(port, 0);
  EXPECT_TRUE(connect_tcp("127.0.0.1", port).ok());
  EXPECT_EQ(listen_tcp("127.0.0.1", port).error().code, Errc::kConflict);
  EXPECT_EQ(listen_tcp("localhost", 0).error().code, Errc::kInvalid);
  EXPECT_EQ(connect_tcp("not-an-address", 1).error().code, Errc::kInvalid);
}

TEST_F(SocketTest, TheModeDoesNotDependOnTheUmask) {
  mode_t before = ::umask(0);
  UniqueFd listener = MUST(listen_unix(path()));
  ::umask(before);
  struct stat status{};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(SocketTest, ALongNameIsCheckedBeforeAnythingIsCreated) {
  std::string deep = long_path();
  std::string name = deep + std::string(100, 'x');
  EXPECT_EQ(listen_unix(name).error().code, Errc::kInvalid);
  EXPECT_EQ(connect_unix(name).error().code, Errc::kInvalid);
  EXPECT_TRUE(fs::is_empty(fs::path(deep).parent_path()));
}

TEST_F(SocketTest, ConnectResultTellsWhyATcpConnectionFailed) {
  std::uint16_t closed = 0;
  {
    UniqueFd listener = MUST(listen_tcp("127.0.0.1", 0));
    closed = MUST(local_port(listener.get()));
  }
  Result<UniqueFd> attempt = connect_tcp("127.0.0.1", closed);
  if (!attempt.ok()) {
    EXPECT_EQ(attempt.error().code, Errc::kUnavailable);
    return;
  }
  pollfd state{attempt->get(), POLLOUT, 0};
  ASSERT_EQ(::poll(&state, 1, 5000), 1);
  EXPECT_EQ(connect_result(attempt->get()).error().code, Errc::kUnavailable);
}

TEST_F(SocketTest, ADeadSocketBehindALongPathIsReplacedToo) {
  std::string deep = long_path();
  {
    UniqueFd dead = MUST(listen_unix(deep));
  }
  UniqueFd alive = MUST(listen_unix(deep));
  EXPECT_TRUE(connect_unix(deep).ok());
  EXPECT_EQ(listen_unix(deep).error().code, Errc::kConflict);
}

// A listener of the user nobody, in a folder that everybody may write.
UniqueFd listen_as_nobody(const std::string& path) {
  constexpr uid_t kNobody = 65534;
  CHECK(::seteuid(kNobody) == 0, "root may be anybody");
  UniqueFd listener = MUST(listen_unix(path));
  CHECK(::seteuid(0) == 0, "and root again");
  return listener;
}

TEST_F(SocketTest, AnotherUsersSocketIsRefusedAndToldNothing) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user";
  fs::permissions(folder_, fs::perms::all);
  const UniqueFd stranger = listen_as_nobody(path());
  const Result<UniqueFd> client = connect_unix(path());
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().code, Errc::kDenied);
  EXPECT_NE(client.error().message.find("uid 65534"), std::string::npos);
  UniqueFd peer(::accept4(stranger.get(), nullptr, nullptr, SOCK_NONBLOCK));
  char byte = 0;
  EXPECT_LE(::recv(peer.get(), &byte, 1, MSG_DONTWAIT), 0);
}

TEST(PeerUser, IsTheKernelsWordOverAUnixSocketAndNobodysOverTcp) {
  int pair[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
  const UniqueFd near(pair[0]);
  const UniqueFd far(pair[1]);
  EXPECT_EQ(peer_user(near.get()), ::geteuid());
  EXPECT_EQ(peer_user(MUST(listen_tcp("127.0.0.1", 0)).get()), std::nullopt);
}

}  // namespace
}  // namespace runnel::async
