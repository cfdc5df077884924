#include "fuse/holder.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "async/event_loop.h"
#include "async/socket.h"
#include "env/files.h"
#include "env/testing/temporary_directory.h"
#include "fuse/mount_point.h"

namespace runnel::fuse {
namespace {

using volume_server::MountNews;
using volume_server::receive_mount;
using volume_server::send_news;

// A server that takes a mount, says that it serves it, and dies.
void serve_and_die(const std::string& socket) {
  const std::unique_ptr<async::EventLoop> loop = MUST(async::EventLoop::create());
  const async::UniqueFd listener = MUST(async::listen_unix(socket));
  MUST(loop->block_on(loop->readable(listener.get())));
  const async::UniqueFd holder(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  MUST(loop->block_on(receive_mount(*loop, holder.get(), Duration::seconds(20), {})));
  send_news(holder.get(), {MountNews::Kind::kServing, ""});
  async::remove_unix_socket(socket, listener);
}

// Who reads gets an error, and no empty folder that a task would take for the version.
TEST(HolderTest, AMountWhoseServerCannotBeStartedAgainIsLeftDead) {
  const env::testing::TemporaryDirectory temporary;
  const std::string folder = MUST(env::real_path(temporary.path())) + "/mount";
  MUST(env::make_directories(folder));
  if (!MountPoint::create(folder, "runnel:data@test").ok()) GTEST_SKIP() << "nobody may mount here";
  int reason = 0;
  std::thread reader;
  Holder::Options options;
  options.source = "runnel:data@test";
  options.request.folder = folder;
  options.socket = temporary.file("socket");
  options.server = {.argv = {"/bin/true"}, .log_file = temporary.file("log")};
  options.serves_within = Duration::millis(1'500);
  options.say = [](const std::string&) {};
  options.mounted = [&] {
    reader = std::thread([&] {
      struct stat file{};
      if (::stat((folder + "/text").c_str(), &file) != 0) reason = errno;
    });
  };
  std::thread server([&] { serve_and_die(options.socket); });
  Result<void> ended;
  std::thread holder([&] { ended = Holder(options).run(); });
  server.join();
  holder.join();
  ASSERT_TRUE(reader.joinable()) << ended.error().to_string();
  reader.join();
  EXPECT_FALSE(ended.ok());
  EXPECT_TRUE(reason == ENOTCONN || reason == ECONNABORTED) << reason;
  EXPECT_TRUE(mount_in(folder).has_value());
  MUST(unmount_folder(folder, Unmount::kLazy));
}

}  // namespace
}  // namespace runnel::fuse
