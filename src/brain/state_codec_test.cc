#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include <gtest/gtest.h>

#include "brain/brain.h"
#include "brain/state_check.h"
#include "brain/testing/brain_harness.h"
#include "json/value.h"
#include "model/codec.h"
#include "model/testing/random_model.h"

namespace runnel::brain {
namespace {

using model::Status;
using testing::BrainHarness;
using testing::step;

// What a control and its nodes could do in some order: a state like a real one, from a seed.
class RandomDay {
 public:
  explicit RandomDay(std::uint64_t seed) : random_(seed) {}

  BrainHarness& run(int inputs) {
    harness_.colocate = random_.maybe();
    harness_.join("n1", 4);
    for (int i = 0; i < inputs; ++i) {
      harness_.pass(Duration::millis(random_.below(400)));
      next();
    }
    return harness_;
  }

 private:
  void next() {
    switch (random_.below(8)) {
      case 0: return submit();
      case 1: return request();
      case 2: return lose_and_rejoin();
      case 3: return harness_.wake();
      default: return report();
    }
  }

  void submit() {
    auto first = step("first", 1 + random_.below(20));
    first.retry.max = static_cast<std::int32_t>(random_.below(3));
    first.retry.backoff_min = first.retry.backoff_max = Duration::millis(random_.below(2'000));
    first.params = {{.name = "x", .values = {"1", "\"2\"", "\n"}}};
    first.samples = first.task_count;
    auto second = step("second", 1, {0});
    second.num_nodes = static_cast<std::int32_t>(1 + random_.below(3));
    second.procs_per_node = static_cast<std::int32_t>(1 + random_.below(2));
    model::Submit input;
    auto spec = std::make_shared<model::JobSpec>();
    spec->name = random_.text();
    spec->steps = {first, second};
    spec->priority = static_cast<std::int32_t>(random_.below(3)) - 1;
    input.job = JobId("j" + std::to_string(++jobs_));
    if (random_.maybe()) input.idempotency_key = "key" + std::to_string(random_.below(10));
    if (random_.maybe()) input.actor = random_.maybe() ? "ada" : "bob";
    input.body_hash = "same";
    input.owner = random_.text();
    input.spec = spec;
    harness_.decide(input);
  }

  void request() {
    if (jobs_ == 0) return;
    const JobId job("j" + std::to_string(1 + random_.below(jobs_)));
    harness_.request(job, static_cast<model::JobRequest::Verb>(random_.below(5)));
  }

  void lose_and_rejoin() {
    const std::string life = std::to_string(life_);
    harness_.lose("n1", life);
    if (random_.maybe()) harness_.wake();
    harness_.join("n1", 2 + random_.below(6), std::to_string(++life_));
  }

  void report() {
    const std::vector<DesiredAttempt> wanted = desired(harness_.brain.state(), NodeId("n1"));
    if (wanted.empty()) return harness_.wake();
    const auto pick = static_cast<std::size_t>(random_.below(std::ssize(wanted)));
    const model::AttemptRef attempt = wanted[pick].attempt;
    const auto order = start_order(harness_.brain.state(), attempt, NodeId("n1"));
    const int rank = static_cast<int>(random_.below(order->world_size));
    auto fact =
        BrainHarness::end_of(attempt, static_cast<int>(random_.below(2)), harness_.now, rank);
    fact.ended = random_.below(4) != 0;
    harness_.report("n1", fact, std::to_string(life_));
  }

  model::RandomModel random_;
  BrainHarness harness_;
  int jobs_ = 0;
  int life_ = 1;
};

// A few of everything that a snapshot can hold.
BrainHarness& rich_desk(BrainHarness& harness) {
  harness.colocate = true;
  harness.join("a", 4);
  harness.join("gone", 2);
  harness.lose("gone");
  auto sweep = step("sweep", 6);
  sweep.params = {{.name = "lr", .kind = model::Parameter::Kind::kUniform, .low = "0", .high = "1"},
                  {.name = "net", .values = {"a", "b"}}};
  sweep.retry.max = 2;
  sweep.retry.backoff_min = sweep.retry.backoff_max = Duration::minutes(5);
  sweep.parallel = 2;
  auto gang = step("gang");
  gang.num_nodes = 2;
  gang.grace = Duration::seconds(5);
  const JobId first = harness.submit({sweep, step("after", 3, {0})});
  const JobId second = harness.submit({gang}, 5);
  harness.running("a", BrainHarness::ref(first, 0, 0));
  harness.pass(Duration::seconds(2));
  harness.ended("a", BrainHarness::ref(first, 0, 0), 7);
  harness.ended("a", BrainHarness::ref(first, 0, 1));
  harness.running("a", BrainHarness::ref(second, 0, 0));
  harness.ended("a", BrainHarness::ref(second, 0, 0), 3, 1);
  const JobId third = harness.submit({step("quick")});
  harness.request(third, model::JobRequest::Verb::kCancel);
  model::Submit keyed;
  keyed.job = JobId("keyed");
  keyed.idempotency_key = "key-1";
  keyed.body_hash = "abc";
  keyed.owner = "ada";
  auto spec = std::make_shared<model::JobSpec>();
  spec->name = "keyed";
  spec->steps = {step("wide", 1'000'000)};
  keyed.spec = spec;
  harness.decide(keyed);
  harness.request(keyed.job, model::JobRequest::Verb::kHalt);
  return harness;
}

TEST(StateCodec, AnEmptyStateIsOneLine) {
  EXPECT_EQ(encode_state(State()), R"({"version":1})");
  EXPECT_EQ(encode_state(MUST(decode_state(R"({"version":1})"))), R"({"version":1})");
}

TEST(StateCodec, EveryDayReadsBackAsItself) {
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    RandomDay day(seed);
    BrainHarness& harness = day.run(60);
    const std::string text = encode_state(harness.brain.state());
    const Result<State> read = decode_state(text);
    ASSERT_TRUE(read.ok()) << seed << ": " << read.error().to_string();
    ASSERT_EQ(encode_state(*read), text) << seed;
    for (const auto& [id, job] : harness.brain.state().jobs) {
      const Job& copy = read->jobs.at(id);
      ASSERT_EQ(*copy.spec, *job.spec);
      for (std::size_t index = 0; index < job.steps.size(); ++index) {
        ASSERT_EQ(copy.steps[index].counts, job.steps[index].counts) << seed;
        ASSERT_EQ(copy.steps[index].lanes, job.steps[index].lanes) << seed;
        ASSERT_EQ(copy.steps[index].tasks, job.steps[index].tasks) << seed;
      }
    }
    ASSERT_EQ(read->lanes, harness.brain.state().lanes) << seed;
    ASSERT_EQ(read->nodes, harness.brain.state().nodes) << seed;
    ASSERT_EQ(read->keys, harness.brain.state().keys) << seed;
  }
}

// A brain that woke from a snapshot decides what the one that never slept decides.
TEST(StateCodec, ABrainGoesOnFromASnapshotAsIfNothingHadHappened) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomDay day(seed);
    BrainHarness& harness = day.run(40);
    Brain woken(MUST(decode_state(encode_state(harness.brain.state()))));
    for (int later = 0; later < 20; ++later) {
      harness.pass(Duration::millis(300));
      const auto wanted = desired(harness.brain.state(), NodeId("n1"));
      model::Input input = model::Wake{};
      if (!wanted.empty()) {
        const Incarnation life = harness.brain.state().nodes.at(NodeId("n1")).incarnation;
        input = model::NodeReport{
            NodeId("n1"), life, {BrainHarness::end_of(wanted.front().attempt, 0, harness.now)}};
      }
      const Decision mine = woken.decide(input, harness.now);
      ASSERT_EQ(mine.events, harness.decide(input).events) << seed;
    }
    ASSERT_EQ(encode_state(woken.state()), encode_state(harness.brain.state())) << seed;
  }
}

TEST(StateCodec, AReplicaThatOnlyFoldedHasTheSameText) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomDay day(seed);
    BrainHarness& harness = day.run(60);
    ASSERT_EQ(encode_state(harness.replica()), encode_state(harness.brain.state())) << seed;
  }
}

TEST(StateCodec, AMillionTasksTakeALine) {
  BrainHarness harness;
  const JobId job = harness.submit({step("wide", 1'000'000)});
  const std::string text = encode_state(harness.brain.state());
  EXPECT_LT(text.size(), 600u);
  EXPECT_EQ(MUST(decode_state(text)).jobs.at(job).steps[0].counts[0], 1'000'000);
}

TEST(StateCodec, AThousandFinishedJobsAreSmall) {
  BrainHarness harness;
  harness.join("a", 1);
  for (int i = 0; i < 1'000; ++i) {
    const JobId job = harness.submit({step("one")});
    harness.ended("a", BrainHarness::ref(job, 0, 0));
  }
  const std::string text = encode_state(harness.brain.state());
  EXPECT_LT(text.size() / 1'000, 600u);
  EXPECT_EQ(MUST(decode_state(text)).finished.size(), 1'000u);
}

// ---- the golden snapshot
// -------------------------------------------------------------------------

std::string golden_text(const std::string& name = "state-v1.json") {
  std::ifstream file(std::string(RUNNEL_SOURCE_DIR) + "/test/golden/log/" + name);
  std::stringstream text;
  text << file.rdbuf();
  std::string line = text.str();
  if (line.ends_with('\n')) line.pop_back();
  return line;
}

// A snapshot that an old build wrote opens in every new one. This file is never written again: a
// new version gets a file of its own beside it.
TEST(StateCodec, OpensTheSnapshotOfVersionOne) {
  const Result<State> read = decode_state(golden_text());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(encode_state(*read), golden_text());
  EXPECT_EQ(read->jobs.size(), 4u);
  EXPECT_EQ(read->nodes.size(), 2u);
  EXPECT_FALSE(read->lanes.empty());
  EXPECT_EQ(read->finished.size(), 1u);
  EXPECT_EQ(read->keys.at({{}, {}, "key-1"}).job, JobId("keyed"));
}

// The same with lanes that name their devices, one that does not, and a node with strangers.
TEST(StateCodec, OpensTheSnapshotWithDevices) {
  const Result<State> read = decode_state(golden_text("state-devices-v1.json"));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(encode_state(*read), golden_text("state-devices-v1.json"));
  ASSERT_EQ(read->lanes.size(), 3u);
  EXPECT_TRUE(read->lanes.at(LaneId(1)).places()[0].devices.empty());
  EXPECT_EQ(read->lanes.at(LaneId(2)).places()[0].devices,
            (model::Devices{{"H100", IntervalSet::of(2, 4)}}));
  EXPECT_EQ(read->nodes.at(NodeId("gpu")).strangers.size(), 2u);
  EXPECT_EQ(encode_state(Brain(*read).state()), golden_text("state-devices-v1.json"));
}

// And with devices that vanished, of which one is back.
TEST(StateCodec, OpensTheSnapshotWithQuarantinedDevices) {
  const Result<State> read = decode_state(golden_text("state-devices-v2.json"));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(encode_state(*read), golden_text("state-devices-v2.json"));
  EXPECT_EQ(read->nodes.at(NodeId("gpu")).quarantined.at(1).again_at, Time::from_millis(1'060'000));
}

// One key thrice: an earlier build's, which is everybody's, and two that are somebody's.
TEST(StateCodec, OpensTheSnapshotWithKeysThatAreSomebodys) {
  const Result<State> read = decode_state(golden_text("state-keys-v1.json"));
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(encode_state(*read), golden_text("state-keys-v1.json"));
  ASSERT_EQ(read->keys.size(), 3u);
  EXPECT_EQ(read->keys.at({{}, {}, "key-1"}).job, JobId("keyed"));
  EXPECT_EQ(read->keys.at({ProjectId("default"), "bob", "key-1"}).job, JobId("job2"));
}

TEST(StateCodec, RefusesADeviceThatTwoLanesHold) {
  std::string text = golden_text("state-devices-v1.json");
  text.replace(text.find("[[4,6]]"), 7, "[[3,5]]");
  const Result<State> read = decode_state(text);
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.error().message.find("lane 3 has a device of another lane"), std::string::npos);
}

TEST(StateCodec, OpensASnapshotWithSuspects) {
  const std::string text = golden_text("state-suspects-v1.json");
  const Result<State> read = decode_state(text);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(encode_state(*read), text);
  const Task& first = read->jobs.at(JobId("job1")).steps[0].tasks.at(TaskIndex(0));
  EXPECT_EQ(first.crashes, 2);
  EXPECT_EQ(first.suspicion->outlive, Duration::seconds(10));
  EXPECT_EQ(read->lanes.begin()->second.apart, first.suspicion->crash);
}

// The same with where they were lost, and whether alone.
TEST(StateCodec, OpensASnapshotWithSuspectsOfANode) {
  const std::string text = golden_text("state-lost-alone-v1.json");
  const Result<State> read = decode_state(text);
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(encode_state(*read), text);
  const Task& first = read->jobs.at(JobId("job1")).steps[0].tasks.at(TaskIndex(0));
  EXPECT_EQ(first.suspicion->node, NodeId("a"));
  EXPECT_TRUE(first.suspicion->alone);
}

// None is left out above.
TEST(StateCodec, EverySnapshotIsWrittenAsItWas) {
  std::size_t files = 0;
  const std::string folder = std::string(RUNNEL_SOURCE_DIR) + "/test/golden/log";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with("state-")) continue;
    ++files;
    const Result<State> read = decode_state(golden_text(name));
    ASSERT_TRUE(read.ok()) << name << ": " << read.error().to_string();
    EXPECT_EQ(encode_state(*read), golden_text(name)) << name;
    EXPECT_EQ(encode_state(Brain(*read).state()), golden_text(name)) << name;
  }
  EXPECT_GE(files, 4U);
}

// ---- a job by itself
// ------------------------------------------------------------------------------

std::string golden_job() {
  std::ifstream file(std::string(RUNNEL_SOURCE_DIR) + "/test/golden/log/job-v1.json");
  std::string line;
  std::getline(file, line);
  return line;
}

// One that failed: some tasks succeeded at once, one later, most failed alike.
Job failed_job(BrainHarness& harness, std::int64_t tasks) {
  harness.join("n1", 4);
  auto flaky = step("flaky", tasks);
  flaky.retry.max = 1;
  const JobId job = harness.submit({flaky, step("after", 2, {0})});
  for (int round = 0; round < 2 * tasks && !model::is_end(harness.job_status(job)); ++round) {
    const auto lanes = harness.brain.state().lanes;
    for (const auto& [id, lane] : lanes) {
      if (lane.queue.empty()) continue;
      const std::int64_t index = lane.queue.front().value();
      const int attempt = find_task(harness.brain.state(), {job, StepIndex(0), TaskIndex(index)})
                              ->live->number.value();
      const bool good = index < 2 || (index == 2 && attempt == 2);
      harness.ended("n1", BrainHarness::ref(job, 0, index, attempt), good ? 0 : 3);
    }
    harness.pass(Duration::minutes(5));
    harness.wake();
  }
  EXPECT_EQ(harness.job_status(job), model::Status::kFailed);
  return harness.brain.state().jobs.at(job);
}

TEST(JobCodec, KeepsAFinishedJobWhole) {
  BrainHarness harness;
  const Job job = failed_job(harness, 8);
  const std::string text = encode_job(job);
  const Job read = MUST(decode_job(text));
  EXPECT_EQ(encode_job(read), text);
  EXPECT_EQ(read.steps.at(0).tasks, job.steps.at(0).tasks);
  EXPECT_EQ(read.steps.at(0).counts, job.steps.at(0).counts);
  EXPECT_EQ(read.status, job.status);
  EXPECT_EQ(read.order, job.order);
  EXPECT_EQ(read.first_event, job.first_event);
  EXPECT_EQ(MUST(json::parse(text)).dump(), text) << "canonical";
}

TEST(JobCodec, TasksThatFailedAlikeTakeNoMoreThanOne) {
  BrainHarness few;
  BrainHarness many;
  const std::size_t small = encode_job(failed_job(few, 8)).size();
  EXPECT_LT(encode_job(failed_job(many, 500)).size(), small + 100);
}

TEST(JobCodec, OpensTheRecordOfVersionOne) {
  BrainHarness harness;
  ASSERT_NE(golden_job(), "") << "this build writes " << encode_job(failed_job(harness, 8));
  const Result<Job> read = decode_job(golden_job());
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_EQ(encode_job(*read), golden_job());
  EXPECT_EQ(read->steps.at(0).tasks.at(TaskIndex(2)).attempts, AttemptNumber(2));
  EXPECT_EQ(read->steps.at(0).tasks.at(TaskIndex(7)).exit_code, 3);
}

TEST(JobCodec, RefusesWhatIsNoFinishedJob) {
  const std::string good = golden_job();
  const auto with = [&good](const std::string& was, const std::string& is) {
    std::string text = good;
    const std::size_t at = text.find(was);
    EXPECT_NE(at, std::string::npos) << was;
    return text.replace(at, was.size(), is);
  };
  EXPECT_EQ(decode_job(with("\"version\":1", "\"version\":2")).error().code, Errc::kUnsupported);
  EXPECT_FALSE(decode_job(with("[[3,8]]", "[[3,900000000000]]")).ok());
  EXPECT_FALSE(decode_job(with("[[3,8]]", "[[4,8]]")).ok());
  EXPECT_FALSE(decode_job(with("\"id\":\"job1\",", "")).ok());
  for (const char* text : {"", "{}", "[]", R"({"version":1})"}) {
    EXPECT_FALSE(decode_job(text).ok()) << text;
  }
}

// ---- what is refused
// -----------------------------------------------------------------------------

// The rich state's text with one change to its document.
Result<State> changed(const std::function<void(json::Value&)>& change) {
  BrainHarness harness;
  json::Value document = MUST(json::parse(encode_state(rich_desk(harness).brain.state())));
  change(document);
  return decode_state(document.dump());
}

json::Value& member(json::Value& object, std::string_view key) {
  return object.as_object().find(key)->second;
}

json::Value& item(json::Value& document, std::string_view list, std::size_t index) {
  return member(document, list).as_list()[index];
}

json::Value& step_at(json::Value& document, std::size_t job, std::size_t step) {
  return member(item(document, "jobs", job), "steps").as_list()[step];
}

TEST(StateCodec, KeepsWhatSomebodyOutsideHolds) {
  BrainHarness harness;
  auto tune = step("tune", 3);
  tune.run = model::ExternalTrials();
  tune.samples.reset();
  tune.params = {{.name = "lr", .kind = model::Parameter::Kind::kUniform, .low = "0", .high = "1"}};
  tune.search = model::SearchSpec{.method = model::SearchSpec::Method::kRandom,
                                  .objectives = {{"loss", false}},
                                  .max_trials = 3};
  model::TrialCall ask;
  ask.job = harness.submit({tune});
  ask.lease = Duration::seconds(90);
  ask.holder = "somebody";
  ASSERT_TRUE(harness.decide(ask).attempt);
  const std::string text = encode_state(harness.brain.state());
  const State read = MUST(decode_state(text));
  EXPECT_EQ(encode_state(read), text);
  ASSERT_EQ(read.lanes.size(), 1u);
  EXPECT_EQ(read.lanes.begin()->second, harness.brain.state().lanes.begin()->second);
  EXPECT_EQ(read.lanes.begin()->second.lease()->length, Duration::seconds(90));
  EXPECT_EQ(read.lanes.begin()->second.lease()->holder, "somebody");
  EXPECT_TRUE(check_state(read).ok());
  Brain again(MUST(decode_state(text)));
  EXPECT_EQ(again.next_wake(harness.now), harness.brain.next_wake(harness.now));
}

TEST(StateCodec, TheRichStateIsSound) {
  const auto read = changed([](json::Value&) {});
  ASSERT_TRUE(read.ok()) << read.error().to_string();
  EXPECT_TRUE(check_state(*read).ok());
}

TEST(StateCodec, RefusesWhatIsNoSnapshot) {
  for (const char* text : {"", "{}", "[]", "null", R"({"version":"1"})", R"({"version":1,"x":0})",
                           R"({"version":1,"now":-1})", R"({"version":1,"jobs":{}})",
                           R"({"version":1,"last_port":70000})",
                           R"({"version":1} )"
                           "x"}) {
    EXPECT_FALSE(decode_state(text).ok()) << text;
  }
}

TEST(StateCodec, RefusesANewerVersionAndSaysSo) {
  const auto read = decode_state(R"({"later":true,"version":2})");
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().code, Errc::kUnsupported);
  EXPECT_EQ(read.error().field, "version");
}

TEST(StateCodec, NamesTheFieldThatIsWrong) {
  const auto read = changed([](json::Value& document) {
    step_at(document, 0, 1).set("status", json::Value::text("QUEUEED"));
  });
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().field, "jobs[0].steps[1].status");
  EXPECT_EQ(read.error().hint, "did you mean QUEUED?");
}

struct Damage {
  const char* says;
  std::function<void(json::Value&)> change;
};

TEST(StateCodec, RefusesStatesThatNoFoldCouldGive) {
  const auto pop = [](json::Value& list) { list.as_list().pop_back(); };
  const std::vector<Damage> damages = {
      {"each of its", [&](auto& doc) { pop(member(step_at(doc, 0, 1), "plain")); }},
      {"each of its",
       [](auto& doc) {
         auto& tasks = member(step_at(doc, 0, 0), "tasks").as_list();
         tasks.erase(tasks.begin());
       }},
      {"other steps", [&](auto& doc) { pop(member(item(doc, "jobs", 0), "steps")); }},
      {"counts as finished",
       [](auto& doc) { member(doc, "finished").as_list()[0] = json::Value::text("job1"); }},
      {"does not name each", [&](auto& doc) { pop(member(doc, "finished")); }},
      {"not open", [&](auto& doc) { member(doc, "lanes").as_list().clear(); }},
      {"a node nobody knows", [&](auto& doc) { member(doc, "nodes").as_list().clear(); }},
      {"other ranks", [](auto& doc) { item(doc, "lanes", 0).set("places", json::Value::list()); }},
      {"of a step that is not there",
       [](auto& doc) { item(doc, "lanes", 0).set("step", json::Value::integer(9)); }},
      {"after the last one opened",
       [](auto& doc) { doc.set("last_lane", json::Value::integer(0)); }},
      {"after the last one submitted",
       [](auto& doc) { doc.set("last_order", json::Value::integer(1)); }},
      {"does not hold it",
       [](auto& doc) { item(doc, "lanes", 0).set("queue", json::Value::list()); }},
      {"must ascend",
       [](auto& doc) {
         auto& jobs = member(doc, "jobs").as_list();
         std::swap(jobs[0], jobs[1]);
       }},
      {"must ascend",
       [](auto& doc) {
         auto& nodes = member(doc, "nodes").as_list();
         nodes[1] = nodes[0];
       }},
  };
  for (const Damage& damage : damages) {
    const auto read = changed(damage.change);
    ASSERT_FALSE(read.ok()) << damage.says;
    EXPECT_NE(read.error().message.find(damage.says), std::string::npos)
        << read.error().to_string();
  }
}

TEST(StateCodec, RefusesRangesThatOverlapOrTouch) {
  for (const char* ranges : {"[[0,5],[5,9]]", "[[0,5],[3,9]]", "[[5,5]]", "[[4,2]]", "[[-1,2]]",
                             "[[0]]", "[[6,9],[0,5]]", "[]"}) {
    const auto read = changed([&](json::Value& document) {
      member(step_at(document, 0, 1), "plain").as_list()[0].as_list()[1] =
          MUST(json::parse(ranges));
    });
    EXPECT_FALSE(read.ok()) << ranges;
  }
}

}  // namespace
}  // namespace runnel::brain
