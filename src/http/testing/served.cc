#include "http/testing/served.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "async/socket.h"
#include "base/check.h"

namespace runnel::http::testing {

namespace fs = std::filesystem;

namespace {

fs::path new_folder() {
  std::string pattern = (fs::temp_directory_path() / "runnel-http-XXXXXX").string();
  CHECK(::mkdtemp(pattern.data()) != nullptr, "a folder for a test");
  return pattern;
}

}  // namespace

Served::Served(Handler handler, ServerLimits limits)
    : folder_(new_folder()), loop_(MUST(async::EventLoop::create())) {
  server_ = std::make_unique<Server>(*loop_, std::move(handler), limits);
  MUST(server_->listen_unix(path()));
  port_ = MUST(server_->listen_tcp("127.0.0.1", 0));
  thread_ = std::thread([this] { loop_->run(); });
}

Served::~Served() {
  if (server_ != nullptr) stop();
  fs::remove_all(folder_);
}

int Served::connections() {
  std::promise<int> count;
  loop_->post([&] { count.set_value(server_->connections()); });
  return count.get_future().get();
}

bool Served::reaches_connections(int count) {
  for (int attempt = 0; attempt < 200; ++attempt) {
    if (connections() == count) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

void Served::stop(Duration deadline) {
  loop_->stop();
  thread_.join();
  MUST(loop_->block_on(server_->stop(deadline)));
  server_.reset();
}

std::string Served::talk(const std::string& bytes) {
  RawClient client(unix_endpoint());
  client.send(bytes);
  return client.read_to_end();
}

RawClient::RawClient(const Endpoint& endpoint) {
  Result<async::UniqueFd> connected = endpoint.is_unix()
                                          ? async::connect_unix(endpoint.unix_path)
                                          : async::connect_tcp(endpoint.host, endpoint.port);
  async::UniqueFd socket = MUST(std::move(connected));
  int flags = ::fcntl(socket.get(), F_GETFL);
  CHECK(::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) == 0, "a blocking socket");
  descriptor_ = socket.release();
  pollfd state{descriptor_, POLLOUT, 0};
  CHECK(::poll(&state, 1, 5000) == 1, "a connected socket");
}

RawClient::~RawClient() { ::close(descriptor_); }

bool RawClient::send(const std::string& bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    ssize_t sent = ::send(descriptor_, bytes.data() + at, bytes.size() - at, MSG_NOSIGNAL);
    if (sent < 0) return false;
    at += static_cast<std::size_t>(sent);
  }
  return true;
}

void RawClient::end_output() { ::shutdown(descriptor_, SHUT_WR); }

std::string RawClient::read_some() {
  pollfd state{descriptor_, POLLIN, 0};
  if (::poll(&state, 1, 10'000) != 1) return "(silence)";
  char buffer[65536];
  ssize_t count = ::recv(descriptor_, buffer, sizeof(buffer), 0);
  return count > 0 ? std::string(buffer, static_cast<std::size_t>(count)) : std::string();
}

std::string RawClient::read_to_end() {
  std::string all;
  while (true) {
    std::string piece = read_some();
    if (piece.empty()) return all;
    all += piece;
    if (piece == "(silence)") return all;
  }
}

std::string RawClient::read_until(const std::string& mark) {
  std::string all;
  while (all.find(mark) == std::string::npos) {
    std::string piece = read_some();
    all += piece;
    if (piece.empty() || piece == "(silence)") break;
  }
  return all;
}

}  // namespace runnel::http::testing
