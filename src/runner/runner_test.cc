#include "runner/runner.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include "env/testing/temporary_directory.h"
#include "output/job_output.h"
#include "output/log_index.h"
#include "output/paths.h"
#include "runner/journal.h"
#include "runner/report_text.h"
#include "runner/testing/runner_process.h"

namespace runnel::runner {
namespace {

using env::testing::TemporaryDirectory;
using model::EndCause;
using testing::place_of;
using testing::process_lives;
using testing::read_text;
using testing::RunnerProcess;
using testing::shell;
using testing::TestAgent;
using testing::wait_text;

// The binary started once more is the runner under test.
__attribute__((constructor)) void become_runner_if_asked(int argc, char** argv) {
  testing::become_runner(argc, argv);
}

class RunnerTest : public ::testing::Test {
 protected:
  std::string logs() const { return output::logs_folder(home_.path(), JobId("job")); }
  std::string out() const { return text_of(model::LogStream::kOut); }
  std::string err() const { return text_of(model::LogStream::kErr); }
  // The output of the attempts of the first lane, one after another.
  std::string text_of(model::LogStream stream) const {
    const std::string text = read_text(output::segment_path(logs(), 0, 0, stream));
    return text.empty() ? text : text.substr(output::kSharedHead.size());
  }
  std::string file(const std::string& name) const { return home_.path() + "/" + name; }
  pid_t wait_pid(const std::string& name) const {
    return static_cast<pid_t>(std::stol(wait_text(file(name), 2)));
  }
  // A script that runs the program twice, once in a session of its own, and goes on after that.
  PlaceStart two_programs(const std::string& program) const {
    std::ofstream(file("program")) << program;
    const std::string run = "sh " + file("program") + " ";
    return shell("setsid " + run + file("session") + " & " + run + file("group") + "; echo next");
  }
  static bool wait_gone(pid_t pid) {
    for (int i = 0; i < 2'000 && process_lives(pid); ++i) ::usleep(5'000);
    return !process_lives(pid);
  }

  TemporaryDirectory home_;
};

TEST_F(RunnerTest, RunsACommandAndTellsItsEnd) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  EXPECT_EQ(agent.welcome().pid, runner.pid());
  EXPECT_FALSE(agent.welcome().incarnation.empty());
  EXPECT_TRUE(agent.inventory().empty());
  const PlaceStart place = shell("echo hello; echo oops >&2; exit 7");
  agent.start(place);
  const model::RankReport end = agent.wait_end(place);
  EXPECT_EQ(end.code, 7);
  EXPECT_EQ(end.signal, 0);
  EXPECT_EQ(end.cause, EndCause::kExited);
  EXPECT_GT(end.started_at, Time());
  EXPECT_GE(end.ended_at, end.started_at);
  EXPECT_EQ(out(), "hello\n");
  EXPECT_EQ(err(), "oops\n");
}

TEST_F(RunnerTest, GivesTheProcessACleanStart) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  PlaceStart place = shell(
      "(cd /proc/$$; readlink fd/0; ls fd | tr '\\n' ' '); echo; "
      "grep -E 'SigBlk|SigIgn|SigCgt' /proc/self/status; pwd; echo $A-$B; "
      "ps -o sid=,pgid=,pid= -p $$ | tr -s ' '");
  place.env.push_back("A=one");
  place.rank_env[0].push_back("B=two");
  place.workdir = home_.path();
  agent.start(place);
  EXPECT_EQ(agent.wait_end(place).code, 0);
  const std::string text = out();
  EXPECT_TRUE(text.starts_with("/dev/null\n0 1 2 \n")) << text;
  EXPECT_NE(text.find("SigBlk:\t0000000000000000"), std::string::npos) << text;
  EXPECT_NE(text.find("SigIgn:\t0000000000000000"), std::string::npos) << text;
  EXPECT_NE(text.find(home_.path() + "\none-two\n"), std::string::npos) << text;
}

TEST_F(RunnerTest, TellsOfSignals) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const PlaceStart place = shell("kill -SEGV $$");
  agent.start(place);
  const model::RankReport end = agent.wait_end(place);
  EXPECT_EQ(end.code, 0);
  EXPECT_EQ(end.signal, SIGSEGV);
}

TEST_F(RunnerTest, SaysWhyACommandCannotRun) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const std::string script = file("no_start_line");
  std::ofstream(script) << "echo hello\n";
  const std::string lost = file("lost_interpreter");
  std::ofstream(lost) << "#!/no/such/interpreter\n";
  std::ofstream(file("plain")) << "text\n";
  for (const std::string& path : {script, lost}) {
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  }
  struct Case {
    std::vector<std::string> argv;
    int code;
    std::string message;
  };
  const Case cases[] = {
      {{"no-such-program"}, 127, "no-such-program: command not found"},
      {{"echo hi"},
       127,
       "echo hi: command not found; it is one word with blanks: leave the quotes away, or give it "
       "to sh -c"},
      {{"/no/such/file"}, 127, "/no/such/file: command not found"},
      {{"/"}, 126, "/: Permission denied"},
      {{file("plain")}, 126, file("plain") + ": Permission denied"},
      {{script}, 126, script + ": neither a program nor a script that starts with '#!'"},
      {{lost}, 127, lost + ": the interpreter in its first line does not exist"},
      {{""}, 127, "the command is empty"},
  };
  std::int64_t task = 0;
  for (const Case& one : cases) {
    const PlaceStart place = place_of(one.argv, task++);
    agent.start(place);
    const model::RankReport end = agent.wait_end(place);
    EXPECT_EQ(end.code, one.code) << one.message;
    EXPECT_EQ(end.cause, EndCause::kExited);
    EXPECT_EQ(end.message, one.message);
    EXPECT_NE(err().find("runnel: " + one.message + "\n"), std::string::npos) << err();
  }
  PlaceStart nowhere = shell("true", task++);
  nowhere.workdir = "/no/such/folder";
  agent.start(nowhere);
  EXPECT_EQ(agent.wait_end(nowhere).message, "workdir /no/such/folder: No such file or directory");
  PlaceStart huge = place_of({"/bin/echo", std::string(200'000, 'x')}, task++);
  agent.start(huge);
  EXPECT_NE(agent.wait_end(huge).message.find("put the script into a file"), std::string::npos);
}

TEST_F(RunnerTest, ACommandOfAnyLengthIsToldShort) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const PlaceStart place = place_of({std::string(70'000, 'x')});
  agent.start(place);
  const model::RankReport end = agent.wait_end(place);
  EXPECT_EQ(end.code, 127);
  EXPECT_LE(end.message.size(), kReportTextMax);
  EXPECT_TRUE(end.message.ends_with("..."));
}

TEST_F(RunnerTest, TellsMoreLongReportsThanFitAFrame) {
  constexpr std::int64_t kTasks = 4'000;
  RunnerProcess runner(home_.path());
  const PlaceStart last = place_of({"/"}, kTasks);
  {
    TestAgent agent(home_.path());
    StartBatch batch;
    for (std::int64_t task = 0; task < kTasks; ++task) {
      batch.places.push_back(place_of({"/" + std::string(2'000, 'x')}, task));
    }
    agent.send(batch);
    agent.start(last);
    agent.wait_end(last);
  }
  TestAgent agent(home_.path());
  EXPECT_EQ(agent.inventory().size(), static_cast<std::size_t>(kTasks + 1));
}

TEST_F(RunnerTest, RunsTheAttemptsOfALaneInOrder) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  StartBatch batch;
  for (int task = 0; task < 50; ++task) {
    batch.places.push_back(shell("echo " + std::to_string(task), task, 3));
  }
  agent.send(batch);
  for (const PlaceStart& place : batch.places) EXPECT_EQ(agent.wait_end(place).code, 0);
  std::string expected;
  for (int task = 0; task < 50; ++task) expected += std::to_string(task) + "\n";
  EXPECT_EQ(out(), expected);
}

TEST_F(RunnerTest, StartsTheRanksOfAGangTogether) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  // Each rank waits for all others.
  PlaceStart place = shell("touch $DIR/$RANK; while [ $(ls $DIR | wc -l) -lt 4 ]; do :; done");
  std::filesystem::create_directory(file("meet"));
  place.env.push_back("DIR=" + file("meet"));
  place.rank_env = {{"RANK=0"}, {"RANK=1"}, {"RANK=2"}, {"RANK=3"}};
  place.task_folder = TaskFolderKind::kLasting;
  agent.start(place);
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(agent.wait_end(place, rank).code, 0);
}

TEST_F(RunnerTest, TakesAStartOnce) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const PlaceStart place = shell("echo once");
  agent.start(place);
  agent.start(place);
  EXPECT_EQ(agent.wait_end(place).code, 0);
  agent.start(place);
  const PlaceStart other = shell("true", 1);
  agent.start(other);
  agent.wait_end(other);
  EXPECT_EQ(out(), "once\n");
}

TEST_F(RunnerTest, StopsAWholeTreeThatListens) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const PlaceStart place = shell("trap 'echo bye; exit 3' TERM; sleep 1000 & echo $! > " +
                                 file("child") + "; setsid sleep 1000 & echo $! > " +
                                 file("session") + "; while :; do sleep 0.01; done");
  agent.start(place);
  const pid_t child = wait_pid("child");
  const pid_t session = wait_pid("session");
  agent.stop(place, Duration::seconds(20));
  const model::RankReport end = agent.wait_end(place);
  EXPECT_EQ(end.cause, EndCause::kStopped);
  EXPECT_EQ(end.code, 3);
  EXPECT_EQ(out(), "bye\n");
  EXPECT_FALSE(process_lives(child));
  EXPECT_FALSE(process_lives(session));
}

// The shell of a script dies of TERM at once; what it started has the grace all the same.
TEST_F(RunnerTest, AScriptsProgramsHaveTheGrace) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const PlaceStart place = two_programs(
      "trap 'sleep 1; echo saved; exit 0' TERM; echo $$ > $1; while :; do sleep 0.01; done");
  agent.start(place);
  wait_pid("session");
  wait_pid("group");
  agent.stop(place, Duration::seconds(30));
  const model::RankReport end = agent.wait_end(place);
  EXPECT_EQ(end.cause, EndCause::kStopped);
  EXPECT_EQ(end.signal, SIGTERM);
  EXPECT_EQ(out(), "saved\nsaved\n");
  EXPECT_GE((end.ended_at - end.started_at).millis(), 1'000) << "it ends with its last process";
}

TEST_F(RunnerTest, AScriptsProgramsAreKilledAfterTheGrace) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const PlaceStart place = two_programs("trap '' TERM; echo $$ > $1; while :; do sleep 0.01; done");
  agent.start(place);
  const pid_t session = wait_pid("session");
  const pid_t group = wait_pid("group");
  agent.stop(place, Duration::millis(500));
  const model::RankReport end = agent.wait_end(place, 0, Duration::seconds(20));
  EXPECT_EQ(end.signal, SIGTERM) << "of the leader";
  EXPECT_GE((end.ended_at - end.started_at).millis(), 500);
  EXPECT_FALSE(process_lives(session));
  EXPECT_FALSE(process_lives(group));
  // The slot is used again: nothing of the attempt is left that could write to it.
  const PlaceStart next = shell("echo next", 1);
  agent.start(next);
  EXPECT_EQ(agent.wait_end(next).code, 0);
  EXPECT_EQ(out(), "next\n");
}

TEST_F(RunnerTest, KillsWhatDoesNotListenAfterTheGrace) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const PlaceStart place =
      shell("trap '' TERM; echo $$ > " + file("pid") + "; while :; do sleep 1; done");
  agent.start(place);
  const pid_t pid = wait_pid("pid");
  agent.stop(place, Duration::millis(300));
  const model::RankReport end = agent.wait_end(place);
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_EQ(end.cause, EndCause::kStopped);
  EXPECT_GE((end.ended_at - end.started_at).millis(), 300);
  EXPECT_FALSE(process_lives(pid));
}

TEST_F(RunnerTest, AStoppedProcessHearsTerm) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const PlaceStart place = shell("echo $$ > " + file("pid") + "; kill -STOP $$; sleep 1000");
  agent.start(place);
  wait_pid("pid");
  agent.stop(place, Duration::seconds(60));
  EXPECT_EQ(agent.wait_end(place, 0, Duration::seconds(30)).signal, SIGTERM);
}

TEST_F(RunnerTest, WithdrawsWhatWaitsInItsLane) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const PlaceStart first = shell("sleep 1000", 0);
  const PlaceStart second = shell("echo never", 1);
  agent.start(first);
  agent.start(second);
  agent.wait_running(first);
  // A withdrawal does not touch what runs.
  agent.stop(first, Duration(), model::StopReason::kWithdrawn);
  agent.stop(second, Duration(), model::StopReason::kWithdrawn);
  const model::RankReport end = agent.wait_end(second);
  EXPECT_EQ(end.cause, EndCause::kNotStarted);
  EXPECT_EQ(end.started_at, Time());
  agent.stop(first, Duration());
  EXPECT_EQ(agent.wait_end(first).signal, SIGKILL);
  EXPECT_EQ(out(), "");
}

TEST_F(RunnerTest, EndsAnAttemptAtItsMaxDuration) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  PlaceStart place = shell("sleep 1000");
  place.max_duration = Duration::millis(200);
  agent.start(place);
  const model::RankReport end = agent.wait_end(place);
  EXPECT_EQ(end.cause, EndCause::kTimeout);
  EXPECT_EQ(end.signal, SIGTERM);
  EXPECT_EQ(end.message, "ended after its max_duration of 200ms");
}

TEST_F(RunnerTest, KillsDaemonsWhenTheirAttemptHasEnded) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  // In the group, in another session, twice removed, and with another environment.
  const PlaceStart place =
      shell("sleep 1000 & echo $! > " + file("a") + "; setsid sleep 1000 & echo $! > " + file("b") +
            "; (setsid sh -c 'sleep 1000 & echo $! > " + file("c") +
            "' &) ; (env -i setsid sh -c 'echo $$ > " + file("d") +
            "; exec sleep 1000' &) ; while [ ! -s " + file("d") + " ] || [ ! -s " + file("c") +
            " ]; do sleep 0.01; done; exit 4");
  agent.start(place);
  EXPECT_EQ(agent.wait_end(place).code, 4);
  for (const char* name : {"a", "b", "c", "d"}) EXPECT_TRUE(wait_gone(wait_pid(name))) << name;
}

TEST_F(RunnerTest, ADaemonOfOursDoesNotBelongToTheTaskThatStartedIt) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const PlaceStart place =
      shell("(RUNNEL_ATTEMPT_KEY=detached setsid sh -c 'echo $$ > " + file("daemon") +
            "; exec sleep 1000' &); while [ ! -s " + file("daemon") + " ]; do sleep 0.01; done");
  agent.start(place);
  EXPECT_EQ(agent.wait_end(place).code, 0);
  const PlaceStart other = shell("true", 1);
  agent.start(other);
  agent.wait_end(other);
  const pid_t daemon = wait_pid("daemon");
  EXPECT_TRUE(process_lives(daemon));
  ::kill(daemon, SIGKILL);
}

TEST_F(RunnerTest, LeavesTheDaemonsOfALivingAttemptAlone) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const PlaceStart keeper = shell(
      "(setsid sh -c 'echo $$ > " + file("daemon") + "; exec sleep 1000' &); sleep 1000", 0, 1);
  agent.start(keeper);
  const pid_t daemon = wait_pid("daemon");
  for (int task = 1; task < 20; ++task) {
    const PlaceStart other = shell("true", task, 2);
    agent.start(other);
    agent.wait_end(other);
  }
  EXPECT_TRUE(process_lives(daemon));
  agent.stop(keeper, Duration::seconds(5));
  agent.wait_end(keeper);
  EXPECT_FALSE(process_lives(daemon));
}

TEST_F(RunnerTest, GivesFoldersAndKeepsWhatIsLeftInThem) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const PlaceStart empty = shell(
      "[ -d \"$RUNNEL_TASK_DIR\" ]; [ -d \"$RUNNEL_CHECKPOINT_DIR\" ]; [ -d \"$RUNNEL_JOB_DIR\" ]; "
      "[ \"$RUNNEL_METRICS_FILE\" = \"$RUNNEL_TASK_DIR/metrics.jsonl\" ]; "
      "[ -z \"$RUNNEL_RESUME_FROM\" ]; echo x > $RUNNEL_JOB_DIR/shared_file",
      0);
  const PlaceStart leaves = shell("echo 17 > $RUNNEL_CHECKPOINT_DIR/epoch", 1);
  const PlaceStart other =
      shell("[ -z \"$(ls $RUNNEL_CHECKPOINT_DIR)\" ]; cat $RUNNEL_JOB_DIR/shared_file", 2);
  PlaceStart again =
      shell("cat $RUNNEL_RESUME_FROM/epoch; [ $RUNNEL_RESUME_FROM = $RUNNEL_CHECKPOINT_DIR ]", 1);
  again.attempt.attempt = AttemptNumber(2);
  for (const PlaceStart& place : {empty, leaves, other, again}) {
    agent.start(place);
    EXPECT_EQ(agent.wait_end(place).code, 0) << to_string(place.attempt) << err();
  }
  EXPECT_EQ(out(), "x\n17\n");
  const std::string job = output::job_folder(home_.path(), JobId("job"));
  EXPECT_EQ(read_text(job + "/tasks/0.1/checkpoint/epoch"), "17\n");
  EXPECT_FALSE(std::filesystem::exists(job + "/tasks/0.0"));
  EXPECT_FALSE(std::filesystem::exists(job + "/tasks/0.2"));
}

TEST_F(RunnerTest, ALastingFolderIsThereFromTheFirstAttempt) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  PlaceStart place = shell("echo $RUNNEL_TASK_DIR; echo $RUNNEL_CHECKPOINT_DIR");
  place.task_folder = TaskFolderKind::kLasting;
  place.checkpoint_dir = "deep/ckpt";
  agent.start(place);
  EXPECT_EQ(agent.wait_end(place).code, 0);
  const std::string lasting = output::job_folder(home_.path(), JobId("job")) + "/tasks/0.0";
  EXPECT_EQ(out(), lasting + "\n" + lasting + "/deep/ckpt\n");
}

TEST_F(RunnerTest, WritesWhereItIsFoundAfterTheFolderOfAJobThatRestsWasRemoved) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const PlaceStart first = shell("echo first");
  agent.start(first);
  EXPECT_EQ(agent.wait_end(first).code, 0);
  std::filesystem::remove_all(output::job_folder(home_.path(), JobId("job")));
  const PlaceStart again = shell("echo again; ls -d $RUNNEL_JOB_DIR", 2);
  agent.start(again);
  EXPECT_EQ(agent.wait_end(again).code, 0);
  EXPECT_EQ(out(), "again\n" + output::job_folder(home_.path(), JobId("job")) + "/shared\n");
}

TEST_F(RunnerTest, KeepsHeadAndTailOfTooMuchOutput) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  PlaceStart place = shell("seq 1 500000");
  place.max_log = Bytes::mebi(1);
  agent.start(place);
  const model::RankReport end = agent.wait_end(place);
  EXPECT_EQ(end.code, 0) << "the attempt is not harmed";
  const std::string text = out();
  EXPECT_TRUE(text.starts_with("1\n2\n3\n"));
  EXPECT_TRUE(text.ends_with("499999\n500000\n"));
  const std::string index = read_text(output::index_path(logs()));
  ASSERT_EQ(index.size(), 3 * output::kIndexRecordBytes);
  const auto last =
      output::parse_record(std::string_view(index).substr(2 * output::kIndexRecordBytes));
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->kind, output::IndexRecord::Kind::kEnd);
  const auto head = static_cast<std::int64_t>(output::kSharedHead.size());
  const std::int64_t kept = last->offset[0] - head - (last->gap_end[0] - last->gap_begin[0]);
  EXPECT_EQ(kept, Bytes::mebi(1).count());
  EXPECT_EQ(last->max_log, Bytes::mebi(1).count());
}

TEST_F(RunnerTest, AScriptThatOpensItsOutputByNameHarmsNobodyElses) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const PlaceStart before = shell("echo one; echo two >&2", 0);
  const PlaceStart opens = shell("echo mine > /dev/stderr; echo own > /dev/stdout", 1);
  const PlaceStart after = shell("echo three; echo four >&2", 2);
  for (const PlaceStart& place : {before, opens, after}) {
    agent.start(place);
    EXPECT_EQ(agent.wait_end(place).code, 0);
  }
  EXPECT_EQ(out(), "one\nthree\n");
  EXPECT_EQ(err(), "two\nfour\n");
  EXPECT_EQ(read_text(output::segment_path(logs(), output::kAloneSlots, 0, model::LogStream::kOut)),
            "own\n");
  EXPECT_EQ(read_text(output::segment_path(logs(), output::kAloneSlots, 0, model::LogStream::kErr)),
            "mine\n");
  const std::string lanes = output::job_folder(home_.path(), JobId("job")) + "/lanes/";
  EXPECT_FALSE(std::filesystem::exists(lanes + std::to_string(output::kAloneSlots)));
}

// The first attempt that does so is noticed where the command itself does not say it.
TEST_F(RunnerTest, AProgramThatOpensItsOutputByNameIsNotCreditedToAnother) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  std::ofstream(file("hidden")) << "echo mine > /dev/stderr";
  const PlaceStart before = shell("echo two >&2", 0);
  const PlaceStart opens = shell("sh " + file("hidden"), 1);
  const PlaceStart after = shell("echo four >&2", 2);
  for (const PlaceStart& place : {before, opens, after}) {
    agent.start(place);
    EXPECT_EQ(agent.wait_end(place).code, 0);
  }
  EXPECT_EQ(err(), "");
  const auto apart = [&](std::uint32_t slot) {
    return read_text(output::segment_path(logs(), slot, 0, model::LogStream::kErr));
  };
  EXPECT_EQ(apart(output::kAloneSlots), "mine\n");
  EXPECT_EQ(apart(output::kAloneSlots + 1), "four\n") << "from then on nobody shares";
}

TEST_F(RunnerTest, ToldAPortIsTaken) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  ASSERT_EQ(::listen(listener, 1), 0);
  socklen_t size = sizeof address;
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  PlaceStart place = shell("true");
  place.port_check = ntohs(address.sin_port);
  agent.start(place);
  EXPECT_EQ(agent.wait_end(place).cause, EndCause::kPortBusy);
  ::close(listener);
  place.attempt.attempt = AttemptNumber(2);
  agent.start(place);
  EXPECT_EQ(agent.wait_end(place).cause, EndCause::kExited);
}

TEST_F(RunnerTest, EndsAnAttemptThatIsOverItsMemory) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  // dd keeps a block of this size in memory.
  PlaceStart place = shell("dd if=/dev/zero of=/dev/null bs=300M count=20 2>/dev/null; sleep 5");
  place.memory_max = Bytes::mebi(64);
  agent.start(place);
  const model::RankReport end = agent.wait_end(place);
  EXPECT_EQ(end.cause, EndCause::kOutOfMemory) << end.code << " " << end.signal;
  EXPECT_NE(end.message.find("memory limit of 64"), std::string::npos) << end.message;
  PlaceStart small = shell("true", 1);
  small.memory_max = Bytes::mebi(64);
  agent.start(small);
  EXPECT_EQ(agent.wait_end(small).cause, EndCause::kExited);
}

TEST_F(RunnerTest, AnAttemptOutlivesItsAgentAndKeepsItsExitCode) {
  RunnerProcess runner(home_.path());
  const PlaceStart place = shell("while [ ! -e " + file("go") + " ]; do sleep 0.01; done; exit 9");
  const PlaceStart queued = shell("exit 10", 1);
  {
    TestAgent agent(home_.path());
    agent.start(place);
    agent.start(queued);
    agent.wait_running(place);
  }
  std::ofstream(file("go")) << "go";
  TestAgent agent(home_.path());
  ASSERT_EQ(agent.inventory().size(), 2U);
  EXPECT_EQ(agent.wait_end(place).code, 9);
  EXPECT_EQ(agent.wait_end(queued).code, 10);
  agent.forget(place);
  TestAgent later(home_.path());
  ASSERT_EQ(later.inventory().size(), 1U) << "only what was not forgotten";
  EXPECT_EQ(later.inventory()[0].report.code, 10);
}

TEST_F(RunnerTest, FencesAgentsByEpoch) {
  RunnerProcess runner(home_.path());
  TestAgent old(home_.path(), Epoch(4));
  TestAgent newer(home_.path(), Epoch(5));
  EXPECT_TRUE(old.wait_closed(Duration::seconds(20)));
  TestAgent late(home_.path(), Epoch(4));
  EXPECT_NE(late.refusal().find("newer epoch 5"), std::string::npos) << late.refusal();
  const PlaceStart place = shell("true");
  newer.start(place);
  EXPECT_EQ(newer.wait_end(place).code, 0) << "the newer one is still served";
}

TEST_F(RunnerTest, DropsAPeerThatTalksNonsense) {
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  agent.send(Refused{"only runners say that"});
  const PlaceStart place = shell("true");
  agent.start(place);
  EXPECT_EQ(agent.wait_end(place).code, 0);
}

TEST_F(RunnerTest, LeavesWhenIdleAndLeavesNothingBehind) {
  RunnerProcess runner(home_.path());
  {
    TestAgent agent(home_.path());
    const PlaceStart place = shell("true");
    agent.start(place);
    agent.wait_end(place);
    agent.forget(place);
    agent.send(Leave{});
  }
  EXPECT_EQ(runner.wait_exit(Duration::seconds(30)), 0);
  EXPECT_TRUE(std::filesystem::is_empty(runner_folder(home_.path())));
  EXPECT_FALSE(std::filesystem::exists(output::job_folder(home_.path(), JobId("job")) + "/lanes"));
}

TEST_F(RunnerTest, GoesOnAsTheSameRunnerAfterACleanEnd) {
  const PlaceStart place = shell("exit 6");
  Incarnation first;
  {
    RunnerProcess runner(home_.path());
    {
      TestAgent agent(home_.path());
      first = agent.welcome().incarnation;
      agent.start(place);
      agent.wait_end(place);
    }
    EXPECT_EQ(runner.wait_exit(Duration::seconds(30)), 0) << "it ends although it holds a record";
  }
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  EXPECT_EQ(agent.welcome().incarnation, first) << "nothing was lost";
  ASSERT_EQ(agent.inventory().size(), 1U);
  EXPECT_EQ(agent.inventory()[0].report.code, 6);
}

TEST_F(RunnerTest, OnlyOnePerHome) {
  RunnerProcess first(home_.path());
  TestAgent agent(home_.path());
  RunnerProcess second(home_.path());
  EXPECT_EQ(second.wait_exit(Duration::seconds(30)), 0);
  const PlaceStart place = shell("true");
  agent.start(place);
  EXPECT_EQ(agent.wait_end(place).code, 0);
}

TEST_F(RunnerTest, OnlyOnePerHomeWhoseFilesOfItWereLost) {
  RunnerProcess first(home_.path());
  TestAgent agent(home_.path());
  agent.start(shell("echo $$ >" + file("task") + "; exec sleep 600"));
  const pid_t task = wait_pid("task");
  std::filesystem::remove_all(runner_folder(home_.path()));
  RunnerProcess second(home_.path());
  EXPECT_EQ(second.wait_exit(Duration::seconds(10)), 0);
  EXPECT_EQ(living_runner(home_.path()), first.pid());
  // The task that it started holds nothing of it: the next one may come when it has died.
  first.kill_hard();
  EXPECT_EQ(living_runner(home_.path()), 0);
  ::kill(task, SIGKILL);
}

TEST_F(RunnerTest, ListensAgainWhereItsSocketWasLost) {
  RunnerProcess runner(home_.path());
  const std::string path = runner_socket(home_.path());
  const PlaceStart place = shell("echo once >>" + file("runs") + "; exec sleep 600");
  {
    TestAgent agent(home_.path());
    agent.start(place);
    agent.wait_running(place);
  }
  const std::vector<std::function<void()>> losses = {
      [] {},
      [&] { ::mkfifo(path.c_str(), 0600); },
      [&] { std::ofstream(path) << "somebody's"; },
      [&] { ::symlink("/dev/null", path.c_str()); },
      [&] { std::filesystem::remove_all(runner_folder(home_.path())); },
  };
  for (const std::function<void()>& lose : losses) {
    ::unlink(path.c_str());
    lose();
    const TestAgent agent(home_.path());  // Waits until somebody listens.
    EXPECT_EQ(agent.welcome().pid, runner.pid());
    EXPECT_EQ(agent.inventory().size(), 1U);
    EXPECT_EQ(MUST(read_journal(runner_folder(home_.path()) + "/journal")).ranks.size(), 1U);
  }
  EXPECT_EQ(read_text(file("runs")), "once\n");
  TestAgent agent(home_.path());
  agent.stop(place, Duration());
  agent.wait_end(place);
}

TEST_F(RunnerTest, MovesWhatIsInItsSocketsPlaceAwayAndLeavesAFolder) {
  std::filesystem::create_directories(runner_folder(home_.path()));
  const std::string path = runner_socket(home_.path());
  std::ofstream(path) << "somebody's";
  RunnerProcess runner(home_.path());
  const PlaceStart place = shell("exec sleep 600");  // It leaves when there is nothing to do.
  {
    TestAgent agent(home_.path());
    agent.start(place);
    agent.wait_running(place);
  }
  EXPECT_EQ(read_text(path + ".away"), "somebody's");
  std::filesystem::remove(path);
  std::filesystem::create_directories(path + "/of/somebody");
  ::usleep(2'000'000);
  EXPECT_TRUE(std::filesystem::exists(path + "/of/somebody"));
  EXPECT_EQ(living_runner(home_.path()), runner.pid());
  std::filesystem::remove_all(path);
  TestAgent agent(home_.path());
  EXPECT_EQ(agent.welcome().pid, runner.pid());
  agent.stop(place, Duration());
  agent.wait_end(place);
}

TEST_F(RunnerTest, AKilledRunnersAttemptsAreFoundAndEnded) {
  const PlaceStart done = shell("exit 5", 0, 1);
  const PlaceStart lives = shell(
      "echo begun; echo 1 > $RUNNEL_CHECKPOINT_DIR/state; trap '' TERM; setsid sleep 1000 & echo "
      "$! > " +
          file("session") + "; (env -i sh -c 'echo $$ > " + file("bare") +
          "; exec sleep 1000' &) ; echo $$ > " + file("leader") + "; while :; do sleep 1; done",
      1, 2);
  Incarnation first;
  {
    RunnerProcess runner(home_.path());
    TestAgent agent(home_.path());
    first = agent.welcome().incarnation;
    agent.start(done);
    agent.start(lives);
    agent.wait_end(done);
    agent.wait_running(lives);
    wait_pid("leader");
    wait_pid("bare");
    runner.kill_hard();
  }
  EXPECT_TRUE(process_lives(wait_pid("leader"))) << "the kill does not touch the attempts";
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  EXPECT_NE(agent.welcome().incarnation, first);
  EXPECT_EQ(agent.wait_end(done).code, 5) << "an exit code that was known is kept";
  const model::RankReport end = agent.wait_end(lives);
  EXPECT_EQ(end.cause, EndCause::kRunnerLost);
  for (const char* name : {"leader", "session", "bare"}) {
    EXPECT_FALSE(process_lives(wait_pid(name))) << name;
  }
  EXPECT_EQ(
      read_text(output::job_folder(home_.path(), JobId("job")) + "/tasks/0.1/checkpoint/state"),
      "1\n");
  const std::string index = read_text(output::index_path(logs()));
  EXPECT_EQ(index.size() % output::kIndexRecordBytes, 0U);
  EXPECT_EQ(index.size() / output::kIndexRecordBytes, 4U) << "each start has its end";
}

TEST_F(RunnerTest, TellsACrashWhileNothingRanFromAnyOtherEnd) {
  const PlaceStart place = shell("echo $$ > " + file("pid") + "; exec sleep 1000");
  // Kills the runner while an agent is there, or it might end by itself before.
  const auto heard_of_the_one_before = [&](bool runs) {
    RunnerProcess runner(home_.path());
    TestAgent agent(home_.path());
    if (runs) {
      agent.start(place);
      wait_pid("pid");
    }
    runner.kill_hard();
    return agent.welcome().crashed_idle;
  };
  EXPECT_FALSE(heard_of_the_one_before(false)) << "nobody was there";
  EXPECT_TRUE(heard_of_the_one_before(true));
  EXPECT_FALSE(heard_of_the_one_before(false)) << "what ran may have done it";
  EXPECT_TRUE(heard_of_the_one_before(false)) << "it held a record, and nothing ran";
  {
    RunnerProcess runner(home_.path());
    {
      TestAgent(home_.path()).forget(place);
    }
    EXPECT_EQ(runner.wait_exit(Duration::seconds(30)), 0);
  }
  EXPECT_FALSE(heard_of_the_one_before(false)) << "it ended by itself";
}

TEST_F(RunnerTest, SurvivesBeingKilledAtAnyMoment) {
  std::mt19937 random(7);
  std::set<std::int64_t> reported;
  std::int64_t next = 0;
  for (int round = 0; round < 12; ++round) {
    RunnerProcess runner(home_.path());
    TestAgent agent(home_.path());
    for (const RankFact& fact : agent.inventory()) {
      EXPECT_EQ(fact.state, RankFact::State::kEnded);
      const bool known = fact.report.cause == EndCause::kExited && fact.report.code == 3;
      EXPECT_TRUE(known || fact.report.cause == EndCause::kRunnerLost);
      reported.insert(fact.report.attempt.task.index.value());
      agent.send(ForgetBatch{{{fact.node, fact.report.attempt}}});
    }
    StartBatch batch;
    for (int i = 0; i < 40; ++i, ++next) batch.places.push_back(shell("exit 3", next, i % 4));
    agent.send(batch);
    const auto wait = std::uniform_int_distribution<int>(0, 120)(random);
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait);
    while (std::chrono::steady_clock::now() < until) agent.hear(Duration::millis(5));
    runner.kill_hard();
    for (const RankFact& fact : agent.take_facts()) {
      if (!fact.report.ended) continue;
      EXPECT_EQ(fact.report.code, 3);
    }
  }
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  for (const RankFact& fact : agent.inventory()) {
    EXPECT_EQ(fact.state, RankFact::State::kEnded);
  }
  EXPECT_GT(reported.size(), 20U);
}

TEST_F(RunnerTest, AfterARebootNothingIsTouched) {
  const PlaceStart place = shell("echo $$ > " + file("pid") + "; exec sleep 1000");
  {
    RunnerProcess runner(home_.path());
    TestAgent agent(home_.path());
    agent.start(place);
    agent.wait_running(place);
    wait_pid("pid");
    runner.kill_hard();
  }
  // The journal of another boot, with the pid of a process of this one.
  const std::string path = runner_folder(home_.path()) + "/journal";
  const Result<JournalContent> content = read_journal(path);
  ASSERT_TRUE(content.ok());
  Journal other = MUST(Journal::create(path, {"another-boot", Incarnation("old"), "", ""}));
  for (const auto& [key, rank] : content->ranks) {
    other.start(key.first, rank.slot, rank.fact, rank.started);
    other.process(key.first, key.second, rank.pid);
  }
  ASSERT_TRUE(other.commit().ok());
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const model::RankReport end = agent.wait_end(place);
  EXPECT_EQ(end.cause, EndCause::kVanished);
  EXPECT_EQ(end.message, "the machine was restarted");
  const pid_t pid = wait_pid("pid");
  EXPECT_TRUE(process_lives(pid));
  ::kill(pid, SIGKILL);
}

TEST_F(RunnerTest, WhoseHomeWasMovedAwayLeavesTheNextOneItsFiles) {
  const std::string moved = home_.path() + "-moved";
  RunnerProcess first(home_.path());
  {
    TestAgent agent(home_.path());
  }
  std::filesystem::rename(home_.path(), moved);
  std::filesystem::create_directories(home_.path());
  RunnerProcess second(home_.path());
  TestAgent agent(home_.path());
  ::kill(first.pid(), SIGTERM);
  EXPECT_EQ(first.wait_exit(Duration::seconds(10)), 0);
  for (const char* name : {"/pid", "/journal", "/sock"}) {
    EXPECT_TRUE(std::filesystem::exists(runner_folder(home_.path()) + name)) << name;
  }
  std::filesystem::remove_all(moved);
}

TEST_F(RunnerTest, WhoseHomeWasMovedAwayStartsNothingAndMeetsNobodyUntilItIsBack) {
  const std::string moved = home_.path() + "-moved";
  RunnerProcess runner(home_.path());
  TestAgent before(home_.path());
  const PlaceStart place = shell("exec sleep 600");
  before.start(place);
  before.wait_running(place);
  std::filesystem::rename(home_.path(), moved);
  before.start(shell("true", 1));
  const TestAgent there(moved);
  EXPECT_NE(there.refusal().find("mv " + moved + " " + home_.path()), std::string::npos)
      << there.refusal();
  EXPECT_FALSE(std::filesystem::exists(home_.path()));
  std::filesystem::rename(moved, home_.path());
  TestAgent after(home_.path());
  ASSERT_EQ(after.inventory().size(), 1U);
  after.stop(place, Duration());
  after.wait_end(place);
}

TEST_F(RunnerTest, IdleInAMovedHomeItMakesRoomForTheNext) {
  const std::string moved = home_.path() + "-moved";
  RunnerProcess runner(home_.path());
  const TestAgent before(home_.path());
  std::filesystem::rename(home_.path(), moved);
  const TestAgent there(moved);
  EXPECT_EQ(runner.wait_exit(Duration::seconds(10)), 0);
  EXPECT_EQ(there.refusal(), "");
  EXPECT_FALSE(std::filesystem::exists(home_.path()));
  std::filesystem::remove_all(moved);
}

TEST_F(RunnerTest, OfACopyEndsNoProcessOfTheOriginal) {
  const std::string copy = home_.path() + "-copy";
  const PlaceStart place = shell("echo $$ > " + file("pid") + "; exec sleep 1000");
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  agent.start(place);
  agent.wait_running(place);
  const pid_t pid = wait_pid("pid");
  std::filesystem::create_directories(runner_folder(copy));
  std::filesystem::copy(runner_folder(home_.path()) + "/journal", runner_folder(copy) + "/journal");
  {
    RunnerProcess other(copy);
    TestAgent of_copy(copy);
    const model::RankReport end = of_copy.wait_end(place);
    EXPECT_EQ(end.cause, EndCause::kVanished);
    EXPECT_NE(end.message.find("another folder"), std::string::npos) << end.message;
    EXPECT_NE(of_copy.welcome().notice.find(home_.path()), std::string::npos);
  }
  EXPECT_TRUE(process_lives(pid));
  std::filesystem::remove_all(copy);
}

TEST_F(RunnerTest, ADamagedJournalIsKeptAndSaidSo) {
  std::filesystem::create_directories(runner_folder(home_.path()));
  std::ofstream(runner_folder(home_.path()) + "/journal") << "this is no journal";
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  EXPECT_NE(agent.welcome().notice.find("journal.damaged"), std::string::npos);
  EXPECT_EQ(read_text(runner_folder(home_.path()) + "/journal.damaged"), "this is no journal");
}

TEST_F(RunnerTest, ToldToEndItEndsItsAttempts) {
  RunnerProcess runner(home_.path());
  const PlaceStart place = shell("sleep 1000", 0);
  const PlaceStart queued = shell("sleep 1000", 1);
  {
    TestAgent agent(home_.path());
    agent.send(StartBatch{{place, queued}});
    agent.wait_running(place);
    ::kill(runner.pid(), SIGTERM);
    EXPECT_EQ(agent.wait_end(place).cause, EndCause::kVanished);
    EXPECT_EQ(agent.wait_end(queued).cause, EndCause::kVanished);
  }
  EXPECT_EQ(runner.wait_exit(Duration::seconds(30)), 0);
}

TEST_F(RunnerTest, ToldToEndItStartsNothingMore) {
  RunnerProcess runner(home_.path());
  const PlaceStart slow = shell("trap '' TERM; touch " + file("up") + "; sleep 1000", 0);
  const PlaceStart late = shell("sleep 1000", 1, 1);
  {
    TestAgent agent(home_.path());
    PlaceStart stubborn = slow;
    stubborn.grace = Duration::seconds(2);
    agent.start(stubborn);
    while (!std::filesystem::exists(file("up"))) agent.hear(Duration::millis(5));
    ::kill(runner.pid(), SIGTERM);
    ::usleep(200'000);
    agent.start(late);
    EXPECT_EQ(agent.wait_end(slow).cause, EndCause::kVanished);
  }
  EXPECT_EQ(runner.wait_exit(Duration::seconds(10)), 0);
  RunnerProcess next(home_.path());
  TestAgent agent(home_.path());
  for (const RankFact& fact : agent.inventory()) EXPECT_NE(fact.report.attempt, late.attempt);
}

TEST_F(RunnerTest, KeepsUpWithManyShortAttempts) {
  constexpr int kTasks = 2'000;
  RunnerProcess runner(home_.path());
  TestAgent agent(home_.path());
  const auto begin = std::chrono::steady_clock::now();
  StartBatch batch;
  for (int task = 0; task < kTasks; ++task) {
    batch.places.push_back(place_of({"/bin/true"}, task, task % 2));
  }
  agent.send(batch);
  while (agent.ended() < kTasks && agent.hear(Duration::seconds(60))) {
  }
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_EQ(agent.ended(), static_cast<std::size_t>(kTasks));
  std::cout << kTasks << " attempts in two lanes: " << kTasks / seconds << " per s\n";
  EXPECT_EQ(read_text(output::index_path(logs())).size(), 2U * kTasks * output::kIndexRecordBytes);
  EXPECT_FALSE(std::filesystem::exists(output::segment_path(logs(), 2, 0, model::LogStream::kOut)))
      << "two lanes need two slots";
}

}  // namespace
}  // namespace runnel::runner
