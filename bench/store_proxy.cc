// An HTTP/1.1 proxy before an object store that plays the network, and a bad store.
//
// usage: store_proxy server=PORT [NAME=VALUE ...]
//
//   latency=20ms          before each request goes on
//   rate=300MB            bytes a second each way, over all connections; 0: as fast as it goes
//   connection_rate=50MB  the same for each connection
//   faults=RULES          proxy/fault_rules.h
//   stall=2s              how long a stalled answer stands still
//   seed=1                of the dice of faults
//
// Both ports are the loopback's. It reads commands from its standard input, one a line, and answers
// each with a line of JSON: words as above, or one of
//
//   away     nobody can connect, and connections break; `back` ends that
//   counts   requests and bytes of bodies by method, and faults by kind; `zero` forgets them
//   trace    the requests one by one
//
// The first line that it prints has its port. It ends with its standard input. Heads pass as they
// came, so that signatures hold; bodies pass in pieces.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>

#include "async/socket.h"
#include "async/unique_fd.h"
#include "base/check.h"
#include "base/result.h"
#include "base/units.h"
#include "json/writer.h"
#include "proxy/fault_rules.h"
#include "proxy/tally.h"
#include "proxy/throttle.h"
#include "proxy/wire.h"

namespace {

using namespace runnel;         // NOLINT: a bench is a leaf.
using namespace runnel::bench;  // NOLINT
namespace beast_http = boost::beast::http;

constexpr std::uint64_t kToTheEnd = UINT64_MAX;
constexpr const char* kLoopback = "127.0.0.1";

struct Settings {
  Duration latency;
  Duration stall = Duration::seconds(2);
  std::int64_t rate = 0;
  std::int64_t connection_rate = 0;
};

// What all connections share of the settings.
struct Link {
  explicit Link(const Settings& given) : settings(given), up(settings.rate), down(settings.rate) {}
  const Settings settings;
  Throttle up;
  Throttle down;
};

void sleep_for(Duration time) {
  std::this_thread::sleep_for(std::chrono::milliseconds(time.millis()));
}

// --- Heads.

struct RequestHead {
  std::string method;
  std::string target;
  std::uint64_t length = 0;
  bool in_chunks = false;
  bool waits_for_continue = false;
};

struct AnswerHead {
  int status = 0;
  std::uint64_t length = 0;  // kToTheEnd: of the connection.
  bool in_chunks = false;
  bool stays = false;  // The connection.
};

template <typename Parser>
bool takes(Parser& parser, const std::string& head) {
  parser.body_limit(boost::none);
  parser.header_limit(static_cast<std::uint32_t>(head.size()) + 1);
  boost::system::error_code error;
  parser.put(boost::asio::buffer(head), error);
  return parser.is_header_done();
}

std::optional<RequestHead> parse_request(const std::string& head) {
  beast_http::request_parser<beast_http::empty_body> parser;
  if (!takes(parser, head)) return std::nullopt;
  RequestHead request;
  request.method = std::string(parser.get().method_string());
  request.target = std::string(parser.get().target());
  request.length = parser.content_length().value_or(0);
  request.in_chunks = parser.chunked();
  request.waits_for_continue = parser.get().count(beast_http::field::expect) > 0;
  return request;
}

std::optional<AnswerHead> parse_answer(const std::string& head, const std::string& method) {
  beast_http::response_parser<beast_http::empty_body> parser;
  if (!takes(parser, head)) return std::nullopt;
  AnswerHead answer;
  answer.status = static_cast<int>(parser.get().result_int());
  const bool is_bare = method == "HEAD" || answer.status == 204 || answer.status == 304;
  answer.in_chunks = !is_bare && parser.chunked();
  answer.length = is_bare || parser.chunked() ? 0 : parser.content_length().value_or(kToTheEnd);
  answer.stays = parser.get().keep_alive() && answer.length != kToTheEnd;
  return answer;
}

std::string error_answer(Fault fault) {
  const bool is_busy = fault == Fault::kBusy;
  const std::string body = std::string("<Error><Code>") + (is_busy ? "SlowDown" : "InternalError") +
                           "</Code><Message>by the proxy</Message></Error>";
  return std::string("HTTP/1.1 ") +
         (is_busy ? "503 Service Unavailable" : "500 Internal Server Error") +
         "\r\nContent-Type: application/xml\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

// --- Sockets.

void send_at_once(int socket) {
  const int on = 1;
  ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

async::UniqueFd connect_to(std::uint16_t port) {
  async::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* const any = reinterpret_cast<const sockaddr*>(&address);
  if (::connect(socket.get(), any, sizeof address) != 0) return {};
  send_at_once(socket.get());
  return socket;
}

// --- One client's connection.

class Proxy;

// A connection of a client, and its own to the server.
class Session {
 public:
  Session(Proxy& proxy, async::UniqueFd client) : proxy_(proxy), client_(std::move(client)) {}

  void run();
  // From another thread: the connection breaks.
  void interrupt() const { ::shutdown(client_.descriptor(), SHUT_RDWR); }

 private:
  bool serve(const std::string& head);
  bool refuse(const RequestHead& request, Fault fault);
  bool forward(const RequestHead& request, const std::string& head, Fault fault);
  bool reach_server();
  bool send_request(const RequestHead& request, const std::string& head, Fault fault);
  std::optional<AnswerHead> read_answer(const RequestHead& request, std::string& head);
  bool give(const AnswerHead& answer, const std::string& head, Fault fault);
  bool give_half(const AnswerHead& answer, const std::string& head);
  bool give_late(const AnswerHead& answer, const std::string& head);
  bool pass_answer(const AnswerHead& answer, std::optional<std::uint64_t> flip_at);
  bool break_off();
  Passing up(std::optional<std::uint64_t> flip_at = {}) {
    return {link_->up, *own_up_, visit_.up, flip_at};
  }
  Passing down(std::optional<std::uint64_t> flip_at = {}) {
    return {link_->down, *own_down_, visit_.down, flip_at};
  }
  void take_link();

  Proxy& proxy_;
  Wire client_;
  std::optional<Wire> server_;
  std::shared_ptr<Link> link_;
  std::optional<Throttle> own_up_;
  std::optional<Throttle> own_down_;
  Visit visit_;
};

// What is the same for all connections.
class Proxy {
 public:
  explicit Proxy(std::uint16_t server) : server_(server) {}

  std::uint16_t server() const { return server_; }
  std::uint16_t port() const { return port_; }
  Tally& tally() { return tally_; }
  std::shared_ptr<Link> link() {
    const std::lock_guard lock(mutex_);
    return link_;
  }
  Fault next_fault(const std::string& method) {
    const std::lock_guard lock(mutex_);
    return rules_.next(method);
  }
  std::uint64_t number() {
    const std::lock_guard lock(mutex_);
    return rules_.number();
  }
  void set(const Settings& settings) {
    const std::lock_guard lock(mutex_);
    link_ = std::make_shared<Link>(settings);
  }
  void set(FaultRules rules) {
    const std::lock_guard lock(mutex_);
    rules_ = std::move(rules);
  }

  Result<void> listen() {
    if (listener_.valid()) return {};
    reserved_.reset();
    listener_ = TRY(async::listen_tcp(kLoopback, port_));
    port_ = TRY(async::local_port(listener_.get()));
    ::fcntl(listener_.get(), F_SETFL, ::fcntl(listener_.get(), F_GETFL) & ~O_NONBLOCK);
    accepting_ = std::thread([this] { accept_all(); });
    return {};
  }
  Result<void> go_away() {
    if (!listener_.valid()) return {};
    ::shutdown(listener_.get(), SHUT_RDWR);  // It wakes who waits for connections.
    accepting_.join();
    listener_.reset();
    // Bound by its number a port stays taken, though nobody listens: no other server gets it.
    reserved_ = TRY(async::listen_tcp(kLoopback, port_));
    ::shutdown(reserved_.get(), SHUT_RDWR);
    const std::lock_guard lock(mutex_);
    for (const auto& [session, thread] : threads_) session->interrupt();
    return {};
  }

 private:
  void accept_all() {
    while (true) {
      async::UniqueFd client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client.valid() && errno != EINTR && errno != ECONNABORTED) return;
      if (client.valid()) begin(std::move(client));
    }
  }
  void begin(async::UniqueFd client) {
    send_at_once(client.get());
    tally_.add_connection();
    join_ended();
    auto session = std::make_unique<Session>(*this, std::move(client));
    const std::lock_guard lock(mutex_);
    Session* const known = session.get();
    threads_[known] = std::thread([this, session = std::move(session)]() mutable {
      session->run();
      const std::lock_guard ending(mutex_);
      ended_.push_back(std::move(threads_.extract(session.get()).mapped()));
      session.reset();
    });
  }
  void join_ended() {
    std::vector<std::thread> ended;
    {
      const std::lock_guard lock(mutex_);
      ended.swap(ended_);
    }
    for (std::thread& thread : ended) thread.join();
  }

  const std::uint16_t server_;
  std::uint16_t port_ = 0;
  async::UniqueFd listener_;
  async::UniqueFd reserved_;  // The port, while it is away.
  std::thread accepting_;
  Tally tally_;
  std::mutex mutex_;
  std::shared_ptr<Link> link_ = std::make_shared<Link>(Settings());  // Under it, as what follows.
  FaultRules rules_ = MUST(FaultRules::parse("", 1));
  std::map<const Session*, std::thread> threads_;  // They end with the process at the latest.
  std::vector<std::thread> ended_;
};

void Session::run() {
  std::string head;
  bool goes_on = true;
  while (goes_on && client_.read_head(head)) goes_on = serve(head);
}

void Session::take_link() {
  std::shared_ptr<Link> link = proxy_.link();
  if (link == link_) return;
  link_ = std::move(link);
  own_up_.emplace(link_->settings.connection_rate);
  own_down_.emplace(link_->settings.connection_rate);
}

bool Session::serve(const std::string& head) {
  const std::optional<RequestHead> request = parse_request(head);
  if (!request) return break_off();
  take_link();
  visit_ = Visit{.method = request->method, .target = request->target, .begun = SteadyClock::now()};
  const Fault fault = proxy_.next_fault(request->method);
  sleep_for(link_->settings.latency);
  if (request->waits_for_continue && !client_.write("HTTP/1.1 100 Continue\r\n\r\n")) return false;
  const bool is_refused = fault == Fault::kInternalError || fault == Fault::kBusy;
  const bool goes_on = is_refused ? refuse(*request, fault) : forward(*request, head, fault);
  proxy_.tally().add(std::move(visit_));
  return goes_on;
}

bool Session::refuse(const RequestHead& request, Fault fault) {
  proxy_.tally().add(fault);
  visit_.status = fault == Fault::kBusy ? 503 : 500;
  Passing how = up();
  const bool is_read = request.in_chunks ? client_.pass_chunks(nullptr, how)
                                         : client_.pass(nullptr, request.length, how);
  return is_read && client_.write(error_answer(fault));
}

bool Session::forward(const RequestHead& request, const std::string& head, Fault fault) {
  if (fault == Fault::kReset) {
    proxy_.tally().add(fault);
    return break_off();
  }
  if (!reach_server()) return break_off();
  const bool is_sent = send_request(request, head, fault);
  // A server may answer before it has heard all.
  std::string answer_head;
  const std::optional<AnswerHead> answer = read_answer(request, answer_head);
  if (!answer) return break_off();
  if (fault == Fault::kLost) {
    proxy_.tally().add(fault);
    return break_off();
  }
  visit_.status = answer->status;
  const bool is_done = fault == Fault::kFlip && request.length > 0;  // On the way there.
  const bool is_given = give(*answer, answer_head, is_done ? Fault::kNone : fault);
  return is_sent && is_given && answer->stays;
}

// A server may have ended a connection that was idle.
bool Session::reach_server() {
  if (server_ && !server_->is_over()) return true;
  server_.reset();
  async::UniqueFd socket = connect_to(proxy_.server());
  if (!socket.valid()) return false;
  server_.emplace(std::move(socket));
  return true;
}

bool Session::send_request(const RequestHead& request, const std::string& head, Fault fault) {
  std::optional<std::uint64_t> flip_at;
  if (fault == Fault::kFlip && request.length > 0) {
    flip_at = proxy_.number() % request.length;
    proxy_.tally().add(fault);
  }
  if (!server_->write(head)) return false;
  Passing how = up(flip_at);
  if (request.in_chunks) return client_.pass_chunks(&*server_, how);
  return client_.pass(&*server_, request.length, how);
}

// What only says "continue" was said already.
std::optional<AnswerHead> Session::read_answer(const RequestHead& request, std::string& head) {
  while (server_->read_head(head)) {
    const std::optional<AnswerHead> answer = parse_answer(head, request.method);
    if (!answer || answer->status >= 200) return answer;
  }
  return std::nullopt;
}

bool Session::give(const AnswerHead& answer, const std::string& head, Fault fault) {
  if (fault == Fault::kTruncate) return give_half(answer, head);
  if (fault == Fault::kStall) return give_late(answer, head);
  std::optional<std::uint64_t> flip_at;
  const bool has_length = answer.length > 0 && answer.length != kToTheEnd;
  if (fault == Fault::kFlip && has_length && answer.status < 300) {
    flip_at = proxy_.number() % answer.length;
    proxy_.tally().add(fault);
  }
  return client_.write(head) && pass_answer(answer, flip_at);
}

bool Session::give_half(const AnswerHead& answer, const std::string& head) {
  proxy_.tally().add(Fault::kTruncate);
  const bool has_length = answer.length > 0 && answer.length != kToTheEnd;
  if (!has_length) {
    client_.write(std::string_view(head).substr(0, head.size() / 2));
    return false;
  }
  Passing how = down();
  if (client_.write(head)) server_->pass(&client_, answer.length / 2, how);
  return false;
}

bool Session::give_late(const AnswerHead& answer, const std::string& head) {
  proxy_.tally().add(Fault::kStall);
  const std::uint64_t half = answer.in_chunks || answer.length == kToTheEnd ? 0 : answer.length / 2;
  AnswerHead rest = answer;
  if (rest.length != kToTheEnd) rest.length -= half;
  Passing how = down();
  if (half > 0 && !(client_.write(head) && server_->pass(&client_, half, how))) return false;
  sleep_for(link_->settings.stall);
  return (half > 0 || client_.write(head)) && pass_answer(rest, {});
}

bool Session::pass_answer(const AnswerHead& answer, std::optional<std::uint64_t> flip_at) {
  Passing how = down(flip_at);
  if (answer.in_chunks) return server_->pass_chunks(&client_, how);
  return server_->pass(&client_, answer.length, how);
}

bool Session::break_off() {
  client_.break_off();
  return false;
}

// --- Commands.

class Commands {
 public:
  explicit Commands(Proxy& proxy) : proxy_(proxy) {}

  // What is answered to a line.
  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string said = "{}";
    for (std::string word; words >> word;) {
      const Result<std::string> done = take(word);
      if (!done.ok()) return error_text(done.error());
      said = *done;
    }
    return said;
  }
  Result<std::string> take(const std::string& word) {
    if (word == "counts") return proxy_.tally().counts();
    if (word == "trace") return proxy_.tally().trace();
    if (word == "zero") proxy_.tally().zero();
    if (word == "away") TRY(proxy_.go_away());
    if (word == "back") TRY(proxy_.listen());
    const std::size_t sign = word.find('=');
    if (sign != std::string::npos) TRY(set(word.substr(0, sign), word.substr(sign + 1)));
    const bool is_known =
        sign != std::string::npos || word == "zero" || word == "away" || word == "back";
    if (!is_known) return Error(Errc::kInvalid, "no such command").with_value(word);
    return std::string("{}");
  }

 private:
  Result<void> set(const std::string& name, const std::string& value) {
    if (name == "latency") {
      settings_.latency = TRY(parse_duration(value));
    } else if (name == "stall") {
      settings_.stall = TRY(parse_duration(value));
    } else if (name == "rate") {
      settings_.rate = TRY(parse_bytes(value)).count();
    } else if (name == "connection_rate") {
      settings_.connection_rate = TRY(parse_bytes(value)).count();
    } else if (name == "seed") {
      seed_ = number_of<std::uint64_t>(value).value_or(1);
    } else if (name == "faults") {
      proxy_.set(TRY(FaultRules::parse(value, seed_)));
    } else {
      return Error(Errc::kInvalid, "no such setting").with_value(name);
    }
    if (name != "seed" && name != "faults") proxy_.set(settings_);
    return {};
  }
  static std::string error_text(const Error& error) {
    std::string text;
    json::Writer out(text);
    out.begin_object().field("error", error.to_string()).end_object();
    return text;
  }

  Proxy& proxy_;
  Settings settings_;
  std::uint64_t seed_ = 1;
};

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  const std::string_view first = argc > 1 ? argv[1] : "";
  const auto server = first.starts_with("server=")
                          ? number_of<std::uint16_t>(first.substr(first.find('=') + 1))
                          : std::nullopt;
  if (!server) {
    std::fprintf(stderr, "usage: store_proxy server=PORT [NAME=VALUE ...]\n");
    return 2;
  }
  Proxy proxy(*server);
  Commands commands(proxy);
  std::string words;
  for (int index = 2; index < argc; ++index) words += std::string(argv[index]) + " ";
  const std::string answer = commands.answer(words);
  MUST(proxy.listen());
  say(answer == "{}" ? "{\"port\":" + std::to_string(proxy.port()) + "}" : answer);
  for (std::string line; std::getline(std::cin, line);) say(commands.answer(line));
  std::_Exit(0);  // Threads that still serve somebody end with the process.
}
