#include "agent/runner_client.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "async/socket.h"
#include "async/together.h"
#include "base/check.h"
#include "env/files.h"
#include "env/process.h"
#include "runner/runner.h"

namespace runnel::agent {

namespace {

// No runner speaks it: each refuses who greets so at once, of whatever build it is, and keeps its
// agent.
constexpr std::uint32_t kNoVersion = 0;

// The process that listens at the other end; 0 when the kernel cannot tell.
std::int64_t peer_of(const async::UniqueFd& socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  const bool told = ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  return told ? peer.pid : 0;
}

bool means_nobody_listens(const Error& error) { return error.code == Errc::kUnavailable; }

// As many wait for it as may: it stands still.
bool takes_nobody_more(const Error& error) { return error.code == Errc::kFull; }

// Blocks. The new runner's process.
Result<std::int64_t> start_process(const RunnerClientOptions& options) {
  TRY(env::make_directories(runner::runner_folder(options.home), env::Access::kOwner));
  env::DetachedProcess process;
  process.argv = options.command;
  process.environment = options.environment;
  process.log_file = runner::runner_log_file(options.home);
  return env::spawn_detached(process);
}

}  // namespace

RunnerClient::RunnerClient(async::EventLoop& loop, env::Clock& clock, RunnerClientOptions options)
    : loop_(loop),
      clock_(clock),
      options_(std::move(options)),
      starts_(loop, clock, "agent-starts"),
      looks_(loop, clock, "agent-looks"),
      has_output_(loop) {
  CHECK(!options_.command.empty(), "nobody said how a runner is started");
}

std::optional<RunnerSilence> RunnerClient::silence() const {
  if (!question_ || clock_.boot() - question_->boot < options_.silence_max) return std::nullopt;
  if (!env::process_runs(pid_)) return RunnerSilence{0, question_->asked_at, {}, is_folder_};
  return RunnerSilence{pid_, question_->asked_at, stranger_, is_folder_};
}

// One that waits for its answer already is not asked anew.
void RunnerClient::begin_question() {
  if (!question_) question_ = Question{clock_.boot(), clock_.wall()};
}

// The start is tried again where the home's disk stands still.
Async<void> RunnerClient::start_runner() {
  const std::string folder = runner::runner_folder(options_.home);
  Result<std::int64_t> started = co_await starts_.run<std::int64_t>(
      folder, [options = options_] { return start_process(options); }, Reach::kFolder);
  if (!started.ok() && started.error().code == Errc::kUnavailable) co_return {};
  pid_ = CO_TRY(std::move(started));
  stranger_.clear();
  co_return {};
}

void RunnerClient::take_pid(std::int64_t pid) {
  pid_ = pid;
  stranger_ = env::process_name(pid);
  if (stranger_ == runner::kRunnerProcessName) stranger_.clear();
}

// Blocks.
RunnerClient::Sight RunnerClient::look(const std::string& home, Name name) {
  const std::string socket = runner::runner_socket(home);
  Sight sight{async::connect_unix(socket)};
  if (!sight.socket.ok()) {
    const Result<env::FileInfo> there = env::file_info(socket);
    sight.is_folder = there.ok() && there->kind == env::FileKind::kDirectory;
    sight.lives = takes_nobody_more(sight.socket.error()) || runner::runner_lives(home);
  }
  if (sight.lives && name == Name::kYes) sight.living = runner::living_runner(home);
  return sight;
}

Async<RunnerClient::Sight> RunnerClient::look_now(Name name) {
  Result<Sight> sight = co_await looks_.run<Sight>(
      runner::runner_folder(options_.home),
      [home = options_.home, name]() -> Result<Sight> { return look(home, name); }, Reach::kFolder);
  if (sight.ok()) is_folder_ = sight->is_folder;
  co_return sight;
}

// One that lives where nobody listens is waited for: it listens again, or ends.
Async<void> RunnerClient::start_or_name(Search& search, const Sight& sight) {
  if (search.started != 0 && env::process_runs(search.started)) co_return {};
  if (sight.lives) {
    if (search.waited < search.next_name) co_return {};
    if (sight.living != 0) take_pid(sight.living);
    search.next_name = search.waited + kRestartAfter;
  } else if (search.waited >= search.next_start) {
    Result<void> started = co_await start_runner();
    CO_TRY(std::move(started));
    search.started = pid_;
    search.next_start = search.waited + kRestartAfter;
  }
  co_return {};
}

// A runner that is there answers at once; one that starts may have to clean up after a dead one
// first.
Async<async::UniqueFd> RunnerClient::reach(async::StopToken stop) {
  Search search;
  Duration pause = kRetryMin;
  while (true) {
    const Name name = search.waited < search.next_name ? Name::kNo : Name::kYes;
    Sight sight = CO_TRY(co_await look_now(name));
    if (sight.socket.ok()) co_return std::move(sight.socket);
    const bool is_full = takes_nobody_more(sight.socket.error());
    if (!is_full && !means_nobody_listens(sight.socket.error())) {
      co_return std::move(sight.socket);
    }
    const bool is_over = search.waited >= options_.connect_max;
    if (is_over && is_full) {
      co_return Error(Errc::kTimeout,
                      "the runner takes no connection within " + human(options_.connect_max));
    }
    if (is_over) co_return std::move(sight.socket);
    CO_TRY(co_await start_or_name(search, sight));
    CO_TRY(co_await loop_.sleep(pause, stop));
    search.waited = search.waited + pause;
    pause = std::min(pause * 2, kRetryMax);
  }
}

// A runner that ends closes its listener last: one that was reached may not answer any more.
Async<runner::Welcome> RunnerClient::connect(async::StopToken stop) {
  CHECK(!connected_, "a runner's client connects twice");
  begin_question();
  for (int meetings = 1;; ++meetings) {
    async::UniqueFd socket = CO_TRY(co_await reach(stop));
    take_pid(peer_of(socket));
    stream_.emplace(loop_, std::move(socket));
    in_.clear();
    out_.clear();
    taken_ = 0;
    Result<runner::Welcome> welcome = co_await greet(stop);
    connected_ = welcome.ok();
    if (connected_) question_.reset();
    if (connected_) co_return welcome;
    stream_.reset();
    const bool ended = welcome.error().code == Errc::kUnavailable;
    if (!ended || meetings == kMeetingsMax) co_return welcome;
    CO_TRY(co_await loop_.sleep(kRetryMax, stop));
  }
}

// One that was stopped accepts nobody: whoever waits for it lets go after a while, and comes again.
Async<runner::Welcome> RunnerClient::greet(async::StopToken stop) {
  const async::StopCallback interrupt(stop, [this] { stream_->interrupt(); });
  bool late = false;
  async::Timer limit(loop_);
  limit.start(options_.welcome_max, [this, &late] {
    late = true;
    stream_->interrupt();
  });
  Result<runner::Welcome> welcome = co_await read_welcome();
  if (!welcome.ok() && late) {
    co_return Error(Errc::kTimeout,
                    "the runner did not say welcome within " + human(options_.welcome_max));
  }
  co_return welcome;
}

Async<runner::Welcome> RunnerClient::read_welcome() {
  std::string hello;
  runner::encode_frame(runner::Hello{runner::kRunnerProtocolVersion, options_.epoch}, hello);
  CO_TRY(co_await stream_->write_all(hello));
  while (true) {
    std::optional<runner::Message> message = CO_TRY(take_message());
    if (!message) {
      CO_TRY(co_await fill());
      continue;
    }
    if (auto* refused = std::get_if<runner::Refused>(&*message)) {
      co_return Error(Errc::kPrecondition, "the runner refused: " + refused->reason);
    }
    auto* welcome = std::get_if<runner::Welcome>(&*message);
    if (welcome == nullptr) co_return Error(Errc::kCorrupt, "the runner did not say welcome");
    co_return std::move(*welcome);
  }
}

Async<void> RunnerClient::fill() {
  std::array<char, 64 * 1024> buffer;
  const std::size_t count = CO_TRY(co_await stream_->read_some(buffer));
  if (count == 0) co_return Error(Errc::kUnavailable, "the runner has ended");
  in_.erase(0, std::exchange(taken_, 0));
  in_.append(buffer.data(), count);
  co_return {};
}

Result<std::optional<runner::Message>> RunnerClient::take_message() {
  const std::string_view rest = std::string_view(in_).substr(taken_);
  const std::size_t size = TRY(runner::frame_size(rest));
  if (size == 0) return std::optional<runner::Message>();
  runner::Message message = TRY(runner::decode_body(
      rest.substr(runner::kFrameHeaderBytes, size - runner::kFrameHeaderBytes)));
  taken_ += size;
  return std::optional<runner::Message>(std::move(message));
}

Async<void> RunnerClient::serve(async::StopToken stop, OnMessage on_message) {
  CHECK(connected_, "serve() needs a connection");
  std::vector<async::Stoppable<void>> all;
  all.emplace_back(
      [this, on_message](async::StopToken token) { return read_all(token, on_message); });
  all.emplace_back([this](async::StopToken token) { return write_all(token); });
  all.emplace_back([this](async::StopToken token) { return keep_asking(token); });
  Result<async::Raced<void>> raced = co_await async::race<void>(loop_, std::move(all), stop);
  connected_ = false;
  stream_.reset();
  async::Raced<void> ended = CO_TRY(std::move(raced));
  co_return std::move(ended.result);
}

Async<void> RunnerClient::read_all(async::StopToken stop, OnMessage on_message) {
  const async::StopCallback interrupt(stop, [this] { stream_->interrupt(); });
  while (true) {
    std::optional<runner::Message> message = CO_TRY(take_message());
    if (message) {
      CO_TRY(co_await on_message(*std::move(message)));
      continue;
    }
    CO_TRY(co_await fill());
  }
}

Async<void> RunnerClient::write_all(async::StopToken stop) {
  while (true) {
    if (out_.empty()) {
      CO_TRY(co_await has_output_.wait(stop));
      continue;
    }
    const std::string batch = std::exchange(out_, {});
    CO_TRY(co_await stream_->write_all(batch));
  }
}

// Its agent's connection may be quiet for hours: whether it lives is asked beside it.
Async<void> RunnerClient::keep_asking(async::StopToken stop) {
  for (;;) {
    CO_TRY(co_await loop_.sleep(kAskEvery, stop));
    Result<Sight> sight = co_await look_now(Name::kNo);
    CO_TRY(stop.check());
    // It has ended, as its connection will.
    const bool has_ended = sight.ok() && !sight->socket.ok() && !sight->lives &&
                           means_nobody_listens(sight->socket.error());
    if (has_ended) continue;
    begin_question();
    if (!sight.ok() || !sight->socket.ok()) continue;
    const Result<void> answered = co_await ask(*std::move(sight->socket), stop);
    CO_TRY(stop.check());
    if (answered.ok()) question_.reset();
  }
}

Async<void> RunnerClient::ask(async::UniqueFd socket, async::StopToken stop) {
  async::Stream stream(loop_, std::move(socket));
  const async::StopCallback interrupt(stop, [&stream] { stream.interrupt(); });
  std::string hello;
  runner::encode_frame(runner::Hello{kNoVersion, options_.epoch}, hello);
  CO_TRY(co_await stream.write_all(hello));
  std::array<char, 1'024> refusal;
  CO_TRY(co_await stream.read_some(refusal));
  co_return {};
}

void RunnerClient::hang_up() {
  if (connected_) stream_->interrupt();
}

void RunnerClient::send(const runner::Message& message) {
  if (!connected_) return;
  runner::encode_frame(message, out_);
  has_output_.notify_one();
}

}  // namespace runnel::agent
