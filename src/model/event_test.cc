#include "model/event.h"

#include <set>

#include <gtest/gtest.h>

#include "json/value.h"
#include "model/codec.h"
#include "model/input.h"

namespace runnel::model {
namespace {

AttemptRef attempt_of(const char* job) {
  return {{JobId(job), StepIndex(1), TaskIndex(17)}, AttemptNumber(2)};
}

// One default value of each alternative.
template <typename Variant, std::size_t... I>
std::vector<Variant> one_of_each(std::index_sequence<I...>) {
  return {Variant(std::in_place_index<I>)...};
}

template <typename Variant>
std::set<std::string_view> types() {
  std::set<std::string_view> out;
  for (const Variant& value :
       one_of_each<Variant>(std::make_index_sequence<std::variant_size_v<Variant>>())) {
    out.insert(type_of(value));
  }
  return out;
}

TEST(Event, TypesAreDistinctWords) {
  EXPECT_EQ(types<Event>().size(), std::variant_size_v<Event>);
  EXPECT_FALSE(types<Event>().contains(""));
  EXPECT_EQ(type_of(Event(JobSubmitted{})), "job.submitted");
  EXPECT_EQ(type_of(Event(TasksChanged{})), "tasks.changed");
  EXPECT_EQ(type_of(Event(LaneExtended{})), "lane.extended");
  EXPECT_EQ(type_of(Event(RankEnded{})), "rank.ended");
  EXPECT_EQ(type_of(Event(AttemptStopping{})), "attempt.stopping");
  EXPECT_EQ(type_of(Event(AttemptEnded{})), "attempt.ended");
  EXPECT_EQ(type_of(Event(NodeLeft{})), "node.left");
  EXPECT_EQ(type_of(Event(KeyExpired{})), "key.expired");
}

TEST(Event, KnowsItsJob) {
  EXPECT_EQ(job_of(JobChanged{.job = JobId("a")}), JobId("a"));
  EXPECT_EQ(job_of(LaneClosed{LaneId(1), JobId("b")}), JobId("b"));
  EXPECT_EQ(job_of(AttemptEnded{.attempt = attempt_of("c")}), JobId("c"));
  EXPECT_EQ(job_of(RankEnded{.attempt = attempt_of("d")}), JobId("d"));
  EXPECT_EQ(job_of(JobDeleted{JobId("e"), "ann"}), JobId("e"));
  EXPECT_TRUE(job_of(NodeLeft{}).empty());
  EXPECT_TRUE(job_of(NodeJoined{}).empty());
  EXPECT_TRUE(job_of(KeyExpired{"k"}).empty());
}

TEST(Event, SubmissionsCompareBySpecification) {
  JobSubmitted a{.job = JobId("a"), .spec = std::make_shared<JobSpec>(JobSpec{.name = "x"})};
  JobSubmitted b{.job = JobId("a"), .spec = std::make_shared<JobSpec>(JobSpec{.name = "x"})};
  EXPECT_EQ(a, b);
  b.spec = std::make_shared<JobSpec>(JobSpec{.name = "y"});
  EXPECT_NE(a, b);
  b.spec = nullptr;
  EXPECT_NE(a, b);
  a.spec = nullptr;
  EXPECT_EQ(a, b);
}

TEST(Input, TypesAndVerbsAreDistinctWords) {
  EXPECT_EQ(types<Input>().size(), std::variant_size_v<Input>);
  EXPECT_EQ(type_of(Input(NodeReport{})), "node.report");
  EXPECT_EQ(type_of(Input(Wake{})), "wake");
  using enum JobRequest::Verb;
  std::set<std::string_view> words;
  for (const JobRequest::Verb verb : {kCancel, kHalt, kResume, kRetry, kDelete}) {
    EXPECT_EQ(parse_verb(to_string(verb)).value(), verb);
    words.insert(to_string(verb));
  }
  EXPECT_EQ(words.size(), 5u);
  EXPECT_NE(parse_verb("cancle").error().hint.find("cancel"), std::string::npos);
}

TEST(Refs, AreReadable) {
  EXPECT_EQ(to_string(attempt_of("1h3f")), "1h3f/s1/t17/a2");
  EXPECT_EQ(to_string(attempt_of("1h3f").task), "1h3f/s1/t17");
}

TEST(RunnerCrashed, IsOfItsNodeAndNamesWhatRan) {
  RunnerCrashed crashed{NodeId("a"), Incarnation("1"), 41, {}};
  crashed.ran.push_back({attempt_of("c"), false, 2, Duration::seconds(10)});
  crashed.ran.push_back({attempt_of("d"), false, -1, {}});
  EXPECT_TRUE(job_of(crashed).empty()) << "what ran may be of several jobs";
  EXPECT_EQ(type_of(Event(crashed)), "runner.crashed");
  const std::string text = encode_text(Event(crashed));
  EXPECT_EQ(decode_event(MUST(json::parse(text))).value(), Event(crashed)) << text;
  EXPECT_EQ(text.find("\"turn\":-1"), std::string::npos) << "what is usual is not written";
}

TEST(TaskCleared, IsOfItsJob) {
  const TaskCleared cleared{JobId("c"), StepIndex(1), TaskIndex(17), "Outlived"};
  EXPECT_EQ(job_of(cleared), JobId("c"));
  EXPECT_EQ(type_of(Event(cleared)), "task.cleared");
  const std::string text = encode_text(Event(cleared));
  EXPECT_EQ(decode_event(MUST(json::parse(text))).value(), Event(cleared)) << text;
}

TEST(SearchStopped, IsOfItsJobAndSaysWhy) {
  const SearchStopped stopped{JobId("c"), StepIndex(0), "TooManyFailures", "3 trials failed"};
  EXPECT_EQ(job_of(stopped), JobId("c"));
  EXPECT_EQ(type_of(Event(stopped)), "search.stopped");
  const std::string text = encode_text(Event(stopped));
  EXPECT_EQ(decode_event(MUST(json::parse(text))).value(), Event(stopped)) << text;
}

TEST(LaneOpened, SaysThatItIsApartOnlyWhenItIs) {
  LaneOpened opened;
  opened.lane = LaneId(3);
  opened.job = JobId("c");
  opened.holding = Places{{{NodeId("a"), 1}}};
  EXPECT_EQ(encode_text(Event(opened)).find("apart"), std::string::npos);
  opened.apart = 41;
  const std::string text = encode_text(Event(opened));
  EXPECT_EQ(decode_event(MUST(json::parse(text))).value(), Event(opened)) << text;
}

TEST(Report, CausesAreReadBack) {
  std::set<std::string_view> words;
  for (int i = 0; i <= static_cast<int>(EndCause::kRunnerLost); ++i) {
    const auto cause = static_cast<EndCause>(i);
    EXPECT_EQ(parse_end_cause(to_string(cause)).value(), cause);
    words.insert(to_string(cause));
  }
  EXPECT_EQ(words.size(), 8u);
  EXPECT_FALSE(parse_end_cause("exploded").ok());
}

}  // namespace
}  // namespace runnel::model
