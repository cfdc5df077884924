#include "home/daemon.h"

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "agent/slow_starts.h"
#include "agent/suspect_mounts.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/process.h"
#include "env/random.h"
#include "generated/version.h"
#include "home/answer_line.h"
#include "home/kept_secrets.h"
#include "home/local_devices.h"
#include "home/place.h"
#include "http/message.h"
#include "runner/runner.h"
#include "store/sqlite/sqlite_log.h"

namespace runnel::home {
namespace {

constexpr Duration kDrain = Duration::seconds(2);
// An end that waits for a disk which does not answer is cut short, as by a kill.
constexpr Duration kCloseMax = Duration::seconds(15);
constexpr Duration kPlaceEvery = Duration::millis(500);
constexpr Duration kRoomEvery = Duration::seconds(1);
constexpr Duration kDrainingEvery = Duration::seconds(1);
// A runner that answers does so at once; one that does not must not keep the home from answering.
constexpr Duration kMeetMax = Duration::seconds(1);

// What its disk lacks, if anything.
std::optional<control::Silence> lack_of_room(const Home& home) {
  const Result<void> room = refuse_full_disk(home);
  if (room.ok()) return std::nullopt;
  return control::Silence{room.error().message, room.error().hint};
}

agent::AgentOptions agent_options(const Home& home, const std::vector<model::NodeInfo>& nodes,
                                  Epoch epoch, std::string executable,
                                  std::vector<std::string> device_command) {
  agent::AgentOptions options;
  options.home = home.root;
  options.nodes = nodes;
  options.epoch = epoch;
  options.device_command = std::move(device_command);
  options.volume_command = {executable, "--home", home.root, "volume"};
  options.runner_command = {std::move(executable), "--home", home.root, "runner"};
  options.environment = env::environment();
  options.api = "unix:" + home.socket();
  options.meet_max = kMeetMax;
  options.secrets = std::make_shared<KeptSecrets>(home.secrets());
  return options;
}

constexpr Duration kFlushMax = Duration::seconds(1);

std::string_view words_of(DaemonEnd why) {
  switch (why) {
    case DaemonEnd::kNone: return "it could not serve any more";
    case DaemonEnd::kNodes: return "the nodes of the home are others";
    case DaemonEnd::kIdle: return "nothing is left to do";
    case DaemonEnd::kAsked: break;
  }
  return "it was asked to";
}

// All nodes of a home share its runner.
void share_a_runner(std::vector<model::NodeInfo>& nodes) {
  for (model::NodeInfo& node : nodes) node.runner = nodes.size() > 1 ? "home" : "";
}

}  // namespace

Daemon::Daemon(async::EventLoop& loop, Home home, NodesInForce nodes, std::string python_path,
               Say say)
    : loop_(loop),
      home_(std::move(home)),
      nodes_file_(std::move(nodes)),
      python_path_(std::move(python_path)),
      lines_(loop, env::real_clock(), home_),
      say_([this, say = std::move(say)](const std::string& sentence) {
        say(sentence);
        lines_.add(LogLevel::kWarning, "home", sentence);
      }),
      secrets_(home_.secrets()),
      room_reads_(loop, env::real_clock(), "home-room"),
      gate_(loop),
      ending_(loop) {}

Daemon::~Daemon() = default;

void Daemon::end(DaemonEnd why) {
  end_ = std::max(end_, why);
  ending_.notify_all();
}

// A file that cannot be used takes no node away.
void Daemon::take_nodes(const std::vector<std::string>& device_command) {
  if (nodes_file_.problem) nodes_file_.nodes = control::nodes_of_before(controller_->state());
  nodes_ = nodes_due();
  nodes_watch_ =
      std::make_unique<NodesWatch>(loop_, home_, device_command, nodes_file_,
                                   [this](NodesInForce next) { begin_anew(std::move(next)); });
}

std::vector<model::NodeInfo> Daemon::nodes_due() const {
  std::vector<model::NodeInfo> nodes =
      control::nodes_in_force(controller_->state(), nodes_file_.nodes);
  share_a_runner(nodes);
  return nodes;
}

void Daemon::begin_anew(NodesInForce next) {
  next_nodes_ = std::move(next);
  end(DaemonEnd::kNodes);
}

// What the end of some work changes comes as all changes of nodes: by a start.
Async<void> Daemon::watch_draining() {
  while (control::are_for_now(nodes_)) {
    CO_TRY(co_await loop_.sleep(kDrainingEvery, gate_.token()));
    if (end_ != DaemonEnd::kNone) co_return {};
    if (nodes_due() == nodes_) continue;
    begin_anew(nodes_file_);
    co_return {};
  }
  co_return {};
}

void Daemon::watch_place() {
  const auto look = [this] {
    return [home = home_, served = served_] { return why_not_there(home, served); };
  };
  const auto take = [this](const std::string& why) {
    if (why.empty()) return;
    say_(why + " while it was served: leaving it as it is");
    std::_Exit(0);
  };
  place_watch_ =
      std::make_unique<PeriodicLook<std::string>>(loop_, "home-place", kPlaceEvery, look, take);
}

// A full disk that has room again when somebody asks why has left no other trace.
void Daemon::watch_room() {
  using Lack = std::optional<control::Silence>;
  const auto look = [this] { return [home = home_] { return lack_of_room(home); }; };
  const auto take = [this](const Lack& lack) {
    if (lack.has_value() == told_full_) return;
    told_full_ = lack.has_value();
    if (lack) {
      lines_.add(LogLevel::kWarning, "home", lack->message);
    } else {
      lines_.add(LogLevel::kInfo, "home", "the disk of the home has room again");
    }
  };
  room_watch_ = std::make_unique<PeriodicLook<Lack>>(loop_, "home-full", kRoomEvery, look, take);
}

control::HomeInfo Daemon::info() const {
  control::HomeInfo info;
  info.home = home_.root;
  info.socket = home_.socket();
  info.version = std::string(kVersion);
  info.daemon_pid = ::getpid();
  info.runner_pid = agent_->runner_pid();
  if (const auto silence = agent_->runner_silence()) {
    info.runner_silence = {agent::sentence(*silence),
                           agent::remedy(*silence, home_.root, agent::mounted_places())};
  }
  for (const agent::SlowStart& start : agent::slow_starts(agent_->waiting())) {
    info.slow_starts.push_back(
        {start.job, start.step, start.reason, {start.sentence, start.remedy}});
  }
  info.nodes_problem = nodes_watch_->problem();
  info.notices = controller_->notices();
  for (std::string& notice : agent_->notices()) info.notices.push_back(std::move(notice));
  for (std::string& notice : control::draining_notices(nodes_)) {
    info.notices.push_back(std::move(notice));
  }
  if (const auto& failed = nodes_watch_->failed_look()) {
    info.notices.push_back(
        "the devices of this machine are not known, so no job is granted one; they are looked for "
        "again in a minute: " +
        failed->why);
  }
  return info;
}

// Whatever its file system is, it need not answer.
Async<std::optional<control::Silence>> Daemon::room() {
  return room_reads_.run<std::optional<control::Silence>>(
      home_.root,
      [home = home_]() -> Result<std::optional<control::Silence>> { return lack_of_room(home); },
      agent::Reach::kFolder);
}

Async<void> Daemon::open() {
  const env::Clock& clock = env::real_clock();
  const std::string path = home_.event_log();
  control::ControllerOptions options;
  options.log.time = std::make_shared<control::FileHomeTime>(home_.time());
  options.salt = env::real_random().next();
  options.on_dead = [this](const Error& error) {
    say_(error.to_string());
    end(DaemonEnd::kAsked);
  };
  controller_ = CO_TRY(co_await control::Controller::open(
      loop_, env::real_clock(), [path, &clock] { return store::open_sqlite_log(path, clock); },
      secrets_, std::move(options)));
  served_ = CO_TRY(served_now(home_));
  watch_place();
  watch_room();
  std::vector<std::string> looks_at_devices = CO_TRY(device_command(home_));
  take_nodes(looks_at_devices);
  glue_ = std::make_unique<NodeGlue>(loop_, gate_, *controller_, say_, lines_);
  for (const model::NodeInfo& node : nodes_) controller_->nodes().attach(node.id, *glue_);
  // Before anything is started again elsewhere: the agent ends what the runner still has of them.
  CO_TRY(co_await controller_->nodes().declare(nodes_));
  std::string executable = CO_TRY(env::executable_path());
  agent::AgentOptions options_of_agent =
      agent_options(home_, nodes_, controller_->writer().epoch(), std::move(executable),
                    std::move(looks_at_devices));
  options_of_agent.python_path = python_path_;
  agent_ = std::make_unique<agent::Agent>(loop_, env::real_clock(), std::move(options_of_agent),
                                          glue_->events());
  glue_->set_agent(agent_.get());
  CO_TRY(co_await agent_->start());
  logs_ = std::make_unique<LogGlue>(*agent_);
  api_ = std::make_unique<control::Api>(
      loop_, *controller_, *logs_,
      control::ApiHost{[this] { return info(); },
                       [this] { return room(); },
                       [this] { end(DaemonEnd::kAsked); },
                       [this](control::Preemption what) { return glue_->preempt(std::move(what)); },
                       {::geteuid(), env::user_name()}});
  api_->add_routes(router_);
  answers_ = AnswerRecord::of_environment();
  server_ = std::make_unique<http::Server>(
      loop_, [this](http::Request request) { return answer(std::move(request)); });
  CO_TRY(loop_.spawn(gate_, nodes_watch_->run(gate_.token())));
  CO_TRY(loop_.spawn(gate_, watch_draining()));
  CO_TRY(loop_.spawn(gate_, place_watch_->run(gate_.token())));
  CO_TRY(loop_.spawn(gate_, room_watch_->run(gate_.token())));
  co_return server_->listen_unix(home_.socket());
}

Async<http::Reply> Daemon::answer(http::Request request) {
  const Duration begun = env::real_clock().boot();
  const std::string asked = std::string(http::to_string(request.method)) + " " + request.path;
  Result<http::Reply> reply =
      co_await (answers_ != nullptr ? answers_->handle(&router_, std::move(request))
                                    : router_.handle(std::move(request)));
  tell_answer(lines_, asked, reply, env::real_clock().boot() - begun);
  co_return reply;
}

void Daemon::tell_start(Duration took) {
  lines_.add(LogLevel::kInfo, "home", "the daemon serves its home",
             {{"jobs", json::Value::integer(std::ssize(controller_->state().jobs))},
              {"nodes", json::Value::integer(std::ssize(nodes_))},
              {"pid", json::Value::integer(::getpid())},
              {"took_ms", json::Value::integer(took.millis())},
              {"version", json::Value::text(std::string(kVersion))}});
  for (const std::string& notice : controller_->notices()) {
    lines_.add(LogLevel::kWarning, "control", notice);
  }
}

bool Daemon::idle() const {
  return server_->connections() == 0 && !controller_->unfinished() && !glue_->has_preempted();
}

Async<void> Daemon::until_idle() {
  const env::Clock& clock = env::real_clock();
  visited_at_ = clock.boot();
  server_->on_connections_changed([this, &clock](int) { visited_at_ = clock.boot(); });
  while (end_ == DaemonEnd::kNone) {
    // Between two commands of a script nobody is connected either.
    const Duration left = visited_at_ + kLinger - clock.boot();
    if (left <= Duration() && idle()) end(DaemonEnd::kIdle);
    if (end_ != DaemonEnd::kNone) co_return {};
    CO_TRY(co_await ending_.wait_for(left > Duration() ? left : kLinger));
  }
  co_return {};
}

Async<void> Daemon::close() {
  async::Timer limit(loop_);
  limit.start(kCloseMax, [this] {
    say_("a disk or a mount has not answered: leaving without an orderly end");
    std::_Exit(0);
  });
  if (server_ != nullptr) {
    CO_TRY(co_await server_->stop(kDrain));
  }
  if (api_ != nullptr) {
    CO_TRY(co_await api_->stop());
  }
  if (agent_ != nullptr) {
    CO_TRY(co_await agent_->stop());
  }
  CO_TRY(co_await gate_.close());
  if (controller_ != nullptr) {
    for (const model::NodeInfo& node : nodes_) controller_->nodes().detach(node.id);
    CO_TRY(co_await controller_->stop());
  }
  co_return {};
}

Async<void> Daemon::run() {
  CO_TRY(loop_.on_signal(SIGTERM, [this] { end(DaemonEnd::kAsked); }));
  CO_TRY(loop_.on_signal(SIGINT, [this] { end(DaemonEnd::kAsked); }));
  const Duration begun = env::real_clock().boot();
  Result<void> opened = co_await open();
  if (opened.ok()) tell_start(env::real_clock().boot() - begun);
  if (opened.ok()) opened = co_await until_idle();
  if (!opened.ok()) lines_.add(LogLevel::kError, "home", opened.error().to_string());
  Result<void> closed = co_await close();
  lines_.add(LogLevel::kInfo, "home", "the daemon ends: " + std::string(words_of(end_)));
  CO_TRY(co_await lines_.flush(kFlushMax));
  CO_TRY(std::move(opened));
  co_return closed;
}

}  // namespace runnel::home
