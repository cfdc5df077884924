#include "runner/server.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/shell_word.h"
#include "env/clock.h"
#include "env/files.h"
#include "runner/folders.h"
#include "runner/runner_log.h"

namespace runnel::runner {
namespace {

// The most bytes that the fact takes in a frame.
std::size_t bytes_of(const RankFact& fact) {
  constexpr std::size_t kNumbers = 128;
  const model::RankReport& report = fact.report;
  return kNumbers + fact.node.str().size() + report.attempt.task.job.str().size() +
         report.message.size();
}

// The end of the frame that begins with `first`: one fact at least, so that frames come to an end.
std::size_t frame_end(const std::vector<RankFact>& facts, std::size_t first) {
  std::size_t end = first;
  std::size_t bytes = 0;
  while (end < facts.size() && end - first < RunnerServer::kNewsFrame &&
         bytes < RunnerServer::kNewsFrameBytes) {
    bytes += bytes_of(facts[end++]);
  }
  return end;
}

}  // namespace

RunnerServer::RunnerServer(const RunnerOptions& options, Supervisor& supervisor, HomeSocket& socket,
                           async::UniqueFd signals, Welcome welcome)
    : options_(options),
      supervisor_(supervisor),
      socket_(socket),
      signals_(std::move(signals)),
      welcome_(std::move(welcome)),
      idle_since_(env::real_clock().boot()),
      look_at_(idle_since_ + kLookEvery) {}

void RunnerServer::run() {
  while (!finished()) wait_and_serve();
  news_at_ = {};
  tell_news();
}

bool RunnerServer::idle_for(Duration limit) const {
  return !agent_ && supervisor_.idle() && env::real_clock().boot() >= idle_since_ + limit;
}

bool RunnerServer::finished() const {
  if (ending_ && supervisor_.idle()) return true;
  if (leave_when_idle_ && idle_for(Duration())) return true;
  return idle_for(supervisor_.holds_records() ? options_.idle_with_records_max : options_.idle_max);
}

// Milliseconds until something is due, at most a second: boot time goes on while a machine sleeps,
// poll's does not.
int RunnerServer::wait_millis() const {
  constexpr std::int64_t kWaitMax = 1'000;
  const Duration now = env::real_clock().boot();
  std::int64_t wait = kWaitMax;
  const Duration tick = supervisor_.next_tick();
  if (!tick.is_zero()) wait = std::min(wait, (tick - now).millis());
  if (agent_ && supervisor_.has_news() && !agent_->congested()) {
    wait = std::min(wait, (news_at_ + kNewsEvery - now).millis());
  }
  return static_cast<int>(std::max<std::int64_t>(wait, 0));
}

void RunnerServer::wait_and_serve() {
  const int agent = agent_ ? agent_->descriptor() : -1;
  const bool to_write = agent_ && agent_->wants_to_write();
  pollfd waits[] = {
      {signals_.get(), POLLIN, 0},
      {agent, static_cast<short>(POLLIN | (to_write ? POLLOUT : 0)), 0},
      {socket_.descriptor(), POLLIN, 0},
      {newcomer_ ? newcomer_->descriptor() : -1, POLLIN, 0},
  };
  ::poll(waits, std::size(waits), wait_millis());
  if (waits[0].revents != 0) take_signals();
  if ((waits[1].revents & ~POLLOUT) != 0) hear(agent_);
  if (waits[3].revents != 0) hear(newcomer_);
  if (waits[2].revents != 0) take_newcomers();
  look_after_files();
  supervisor_.tick();
  supervisor_.flush();
  tell_news();
  if (agent_ || !supervisor_.idle()) idle_since_ = env::real_clock().boot();
}

void RunnerServer::take_signals() {
  signalfd_siginfo infos[16];
  const ssize_t got = ::read(signals_.get(), infos, sizeof infos);
  const std::size_t count = got > 0 ? static_cast<std::size_t>(got) / sizeof infos[0] : 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (infos[i].ssi_signo != SIGTERM && infos[i].ssi_signo != SIGINT) continue;
    end();
  }
  supervisor_.reap();
}

void RunnerServer::end() {
  if (std::exchange(ending_, true)) return;
  supervisor_.end_all();
}

void RunnerServer::take_newcomers() {
  async::UniqueFd socket(
      ::accept4(socket_.descriptor(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket.valid()) newcomer_.emplace(std::move(socket));
}

// A home that was moved away, or is hidden by a mount, has its files: those at the path are
// another's. One that was removed, as by a move to another disk, learns of nothing any more: what
// runs for it would run beside what is started for it elsewhere.
void RunnerServer::look_after_files() {
  const Duration now = env::real_clock().boot();
  if (now < look_at_) return;
  look_at_ = now + kLookEvery;
  if (socket_.home_is_gone()) return end();
  if (socket_.leads_here() || !socket_.home_in_place()) return;
  const Result<void> restored = restore_files();
  std::string lack = restored.ok() ? "" : restored.error().to_string();
  if (restored.ok()) log_line("its socket was lost: it listens there again");
  if (!restored.ok() && lack != lack_) log_line("its socket was lost: " + lack);
  lack_ = std::move(lack);
}

// The journal first: who finds the socket counts on what it tells.
Result<void> RunnerServer::restore_files() {
  TRY(env::make_directories(runner_folder(options_.home)));
  TRY(supervisor_.restore_journal());
  return socket_.listen_again();
}

void RunnerServer::hear(std::optional<Connection>& from) {
  std::vector<Message> messages;
  const Result<void> received = from->receive(messages);
  for (Message& message : messages) take(from, message);
  if (!received.ok()) from.reset();
}

void RunnerServer::take(std::optional<Connection>& from, Message& message) {
  if (&from == &newcomer_) {
    // Its first word; what it says after that belongs to the agent's connection.
    const Hello* hello = std::get_if<Hello>(&message);
    if (hello == nullptr || !newcomer_) return newcomer_.reset();
    Connection connection = *std::move(newcomer_);
    newcomer_.reset();
    return welcome(std::move(connection), *hello);
  }
  if (auto* batch = std::get_if<StartBatch>(&message)) {
    take_starts(std::move(*batch));
  } else if (const auto* stops = std::get_if<StopBatch>(&message)) {
    for (const PlaceStop& stop : stops->stops) supervisor_.stop(stop);
  } else if (const auto* forgets = std::get_if<ForgetBatch>(&message)) {
    for (const AttemptOnNode& of : forgets->attempts) supervisor_.forget(of);
  } else if (const auto* remove = std::get_if<RemoveJob>(&message)) {
    supervisor_.remove_job(remove->job);
  } else if (std::holds_alternative<Leave>(message)) {
    leave_when_idle_ = true;
  }
}

// Told to end, it drops them, or it never would; and where the home was moved away, their folders
// would be made in the old place. The runner that comes next lacks them, and control sends them to
// that one.
void RunnerServer::take_starts(StartBatch batch) {
  if (ending_ || !socket_.home_in_place()) return;
  for (PlaceStart& place : batch.places) supervisor_.start(std::move(place));
}

void RunnerServer::welcome(Connection newcomer, const Hello& hello) {
  const auto refuse = [&newcomer](std::string reason) {
    newcomer.send(Refused{std::move(reason)});
    (void)newcomer.flush();
  };
  if (hello.version != kRunnerProtocolVersion) {
    return refuse("this runner speaks version " + std::to_string(kRunnerProtocolVersion) +
                  " of its protocol, the agent speaks " + std::to_string(hello.version));
  }
  if (hello.epoch < epoch_) {
    return refuse("a control of the newer epoch " + std::to_string(epoch_.value()) +
                  " has spoken to this runner");
  }
  if (!socket_.home_in_place()) return meet_in_another_place(refuse);
  epoch_ = hello.epoch;
  leave_when_idle_ = false;
  agent_.emplace(std::move(newcomer));
  agent_->send(welcome_);
  (void)supervisor_.take_news();  // All of it is in the inventory.
  send_facts(FactsKind::kInventoryEnd, supervisor_.inventory());
  tell_news();
}

// An agent that finds us there serves the home where it is now, and all our paths are those of
// before: the next runner can have it once nothing runs here.
void RunnerServer::meet_in_another_place(const std::function<void(std::string)>& refuse) {
  agent_.reset();
  leave_when_idle_ = supervisor_.idle();
  if (leave_when_idle_) return;
  const std::string now = socket_.home_now();
  refuse("the home was moved away from " + options_.home +
         " while tasks of it run there; move it back: mv " + shell_word(now) + " " +
         shell_word(options_.home) + "; or end them: kill " + std::to_string(::getpid()));
}

void RunnerServer::tell_news() {
  if (!agent_) {
    (void)supervisor_.take_news();  // The next agent gets the inventory.
    return;
  }
  const Duration now = env::real_clock().boot();
  const bool due = now >= news_at_ + kNewsEvery && !agent_->congested();
  if (supervisor_.has_news() && due) {
    news_at_ = now;
    send_facts(FactsKind::kNews, supervisor_.take_news());
  }
  if (agent_->wants_to_write() && !agent_->flush().ok()) agent_.reset();
}

// In frames of a bounded size; the last one is of the given kind and there is always one.
void RunnerServer::send_facts(FactsKind last, const std::vector<RankFact>& facts) {
  std::size_t sent = 0;
  do {
    const std::size_t end = frame_end(facts, sent);
    CHECK(end > sent || facts.empty(), "a frame takes one report at least");
    const auto at = [&facts](std::size_t i) {
      return facts.begin() + static_cast<std::ptrdiff_t>(i);
    };
    Facts frame;
    frame.ranks.assign(at(sent), at(end));
    sent = end;
    const bool is_last = sent == facts.size();
    frame.kind = is_last || last == FactsKind::kNews ? last : FactsKind::kInventory;
    agent_->send(frame);
  } while (sent < facts.size());
}

}  // namespace runnel::runner
