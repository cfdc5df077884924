#include "model/codec.h"

#include <limits>

#include <gtest/gtest.h>

#include "model/spec_records.h"
#include "model/testing/random_model.h"

namespace runnel::model {
namespace {

constexpr int kRounds = 400;

json::Value parsed(std::string_view text) { return MUST(json::parse(text)); }

template <typename T>
std::string text_of(const T& value) {
  std::string text;
  json::Writer out(text);
  encode(out, value);
  return text;
}

// The error that a document is refused with.
template <typename T>
Error refusal(const Result<T>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? Error() : result.error();
}

Error event_refusal(std::string_view text) { return refusal(decode_event(parsed(text))); }
Error input_refusal(std::string_view text) { return refusal(decode_input(parsed(text))); }

// The canonical text of a value is what the generic printer makes of the same document.
void expect_canonical(const std::string& text) { EXPECT_EQ(parsed(text).dump(), text); }

TEST(Codec, EveryEventComesBackEqual) {
  RandomModel random(1);
  for (std::size_t type = 0; type < std::variant_size_v<Event>; ++type) {
    for (int round = 0; round < kRounds; ++round) {
      const Event event = random.event(type);
      const std::string text = encode_text(event);
      expect_canonical(text);
      const Result<Event> back = decode_event(parsed(text));
      ASSERT_TRUE(back.ok()) << back.error().to_string() << "\n" << text;
      ASSERT_EQ(*back, event) << text;
      ASSERT_EQ(encode_text(*back), text);
    }
  }
}

TEST(Codec, EveryInputComesBackEqual) {
  RandomModel random(2);
  for (std::size_t type = 0; type < std::variant_size_v<Input>; ++type) {
    for (int round = 0; round < kRounds; ++round) {
      const Input input = random.input(type);
      const std::string text = encode_text(input);
      expect_canonical(text);
      const Result<Input> back = decode_input(parsed(text));
      ASSERT_TRUE(back.ok()) << back.error().to_string() << "\n" << text;
      ASSERT_EQ(*back, input) << text;
      ASSERT_EQ(encode_text(*back), text);
    }
  }
}

TEST(Codec, PartsComeBackEqual) {
  RandomModel random(3);
  for (int round = 0; round < kRounds; ++round) {
    const Resources resources = random.resources();
    EXPECT_EQ(decode_resources(parsed(text_of(resources)), "").value(), resources);
    const NodeInfo node = random.node();
    EXPECT_EQ(decode_node_info(parsed(text_of(node)), "").value(), node);
    const RankReport report = random.rank_report();
    EXPECT_EQ(decode_rank_report(parsed(text_of(report)), "").value(), report);
    const JobSpec spec = random.spec();
    EXPECT_EQ(decode_job_spec(parsed(encode_text(spec)), "").value(), spec);
  }
}

// Removing any member of a document, or adding one, never yields the same value silently.
TEST(Codec, EveryMemberMatters) {
  RandomModel random(4);
  for (int round = 0; round < kRounds; ++round) {
    const Event event = random.event();
    const json::Value document = parsed(encode_text(event));
    for (const auto& [key, member] : document.as_object()) {
      json::Value::Object fewer = document.as_object();
      fewer.erase(key);
      const Result<Event> without = decode_event(json::Value::object(fewer));
      if (without.ok()) {
        EXPECT_NE(*without, event) << key << " of " << document.dump();
      }
      json::Value::Object more = document.as_object();
      more.emplace(key + "x", member);
      EXPECT_FALSE(decode_event(json::Value::object(more)).ok()) << key;
    }
  }
}

TEST(Codec, DefaultsAreLeftOut) {
  EXPECT_EQ(text_of(Resources()), "{}");
  EXPECT_EQ(text_of(Resources{0, Bytes(), {{"H100", 0}}}), "{}");
  EXPECT_EQ(text_of(NodeInfo{.id = NodeId("n")}), R"({"id":"n"})");
  EXPECT_EQ(text_of(StepSpec{.name = "s", .run = Command::shell("true")}),
            R"({"name":"s","run":"true"})");
  EXPECT_EQ(encode_text(Event(AttemptEnded{
                .attempt = {{JobId("j"), StepIndex(0), TaskIndex(7)}, AttemptNumber(1)},
                .lane = LaneId(3),
                .started_at = Time::from_millis(1000),
                .ended_at = Time::from_millis(2000)})),
            R"({"attempt":{"job":"j","task":7},"ended_at":2000,"lane":3,"started_at":1000,)"
            R"("task":"SUCCEEDED","to":"SUCCEEDED","type":"attempt.ended"})");
  EXPECT_EQ(encode_text(Input(Wake())), R"({"type":"wake"})");
}

// A search from a build before populations opens as what it meant.
TEST(Codec, ANewFieldIsItsDefaultWhereItIsMissing) {
  const json::Value old = MUST(json::parse(
      R"({"max_trials":8,"method":"pbt","objectives":[{"metric":"loss"}],"population":{}})"));
  SearchSpec search;
  ASSERT_TRUE(Form<SearchSpec>::read(old, search).ok());
  EXPECT_EQ(search.population, PopulationSpec());
  EXPECT_EQ(search.population->max_step, 0);
  const Event moved = MUST(decode_event(MUST(json::parse(
      R"({"at":4,"donor":1,"job":"j","params":[["x","0.5"]],"trial":2,"type":"trial.moved"})"))));
  EXPECT_EQ(std::get<TrialMoved>(moved),
            (TrialMoved{JobId("j"), StepIndex(0), TaskIndex(2), TaskIndex(1), 4, {{"x", "0.5"}}}));
  EXPECT_EQ(event_refusal(R"({"donor":1,"trial":2,"type":"trial.moved"})").field, "job");
  EXPECT_EQ(event_refusal(R"({"donor":-1,"job":"j","trial":2,"type":"trial.moved"})").field,
            "donor");
}

TEST(Codec, APopulationKeepsItsLimits) {
  const auto fault = [](const std::string& population) {
    SearchSpec search;
    const Result<void> read = Form<SearchSpec>::read(
        MUST(json::parse(R"({"max_trials":8,"method":"pbt","objectives":[{"metric":"loss"}],)"
                         R"("population":)" +
                         population + "}")),
        search);
    return read.ok() ? "" : read.error().field;
  };
  EXPECT_EQ(fault(R"({"every":3,"quantile_percent":50})"), "");
  EXPECT_EQ(fault(R"({"every":0})"), "population.every");
  EXPECT_EQ(fault(R"({"quantile_percent":51})"), "population.quantile_percent");
  EXPECT_EQ(fault(R"({"resample_percent":101})"), "population.resample_percent");
  EXPECT_EQ(fault(R"({"evry":1})"), "population.evry");
}

TEST(Codec, MeaningsOfOrderAreKept) {
  LaneExtended event{.lane = LaneId(1), .job = JobId("j")};
  event.tasks.push_back({TaskIndex(5), AttemptNumber(2), {{"z", "1e-4"}, {"a", "x\ny"}}});
  EXPECT_EQ(encode_text(Event(event)),
            R"({"job":"j","lane":1,"tasks":[{"attempt":2,"index":5,)"
            R"("params":[["z","1e-4"],["a","x\ny"]]}],"type":"lane.extended"})");
}

TEST(Codec, UnknownMembersAreRefusedWithTheNearest) {
  const Error top = event_refusal(R"({"job":"j","jobb":1,"type":"job.archived"})");
  EXPECT_EQ(top.code, Errc::kInvalid);
  EXPECT_EQ(top.field, "jobb");
  EXPECT_NE(top.hint.find("job"), std::string::npos);
  const Error deep =
      event_refusal(R"({"attempt":{"job":"j","tsk":7},"lane":3,"type":"attempt.running"})");
  EXPECT_EQ(deep.field, "attempt.tsk");
  const Error listed =
      input_refusal(R"({"incarnation":"i","node":"n","ranks":[{"attempt":{"job":"j"}},)"
                    R"({"attempt":{"job":"j","x":1}}],"type":"node.report"})");
  EXPECT_EQ(listed.field, "ranks[1].attempt.x");
}

TEST(Codec, AnIdOfAJobThatDoesNotFitIsRefused) {
  const Error event = event_refusal(R"({"job":"a-very-long-job-id","type":"job.archived"})");
  EXPECT_EQ(event.code, Errc::kInvalid);
  EXPECT_EQ(event.field, "job");
  EXPECT_EQ(event.value, "a-very-long-job-id");
  const Error input = input_refusal(
      R"({"incarnation":"i","node":"n","ranks":[{"attempt":{"job":"a-very-long-job-id"}}],)"
      R"("type":"node.report"})");
  EXPECT_EQ(input.field, "ranks[0].attempt.job");
  EXPECT_EQ(event_refusal(R"({"job":"j\u0000","type":"job.archived"})").field, "job");
}

TEST(Codec, TypesAreChecked) {
  EXPECT_EQ(event_refusal(R"({"job":7,"type":"job.archived"})").field, "job");
  EXPECT_EQ(event_refusal(R"({"job":"j","lane":"3","type":"lane.closed"})").field, "lane");
  EXPECT_EQ(event_refusal(R"({"job":"j","lane":3.5,"type":"lane.closed"})").field, "lane");
  EXPECT_EQ(event_refusal(R"({"attempt":[],"lane":3,"type":"attempt.running"})").field, "attempt");
  EXPECT_EQ(event_refusal(R"({"job":"j","ranges":{},"to":"QUEUED","type":"tasks.changed"})").field,
            "ranges");
  EXPECT_EQ(
      event_refusal(R"({"job":"j","ranges":[[1]],"to":"QUEUED","type":"tasks.changed"})").field,
      "ranges[0]");
  EXPECT_EQ(
      input_refusal(R"({"incarnation":"i","node":{"colocate":1,"id":"n"},"type":"node.join"})")
          .field,
      "node.colocate");
}

TEST(Codec, MissingMembersAreNamed) {
  EXPECT_EQ(event_refusal(R"({"type":"job.archived"})").field, "job");
  EXPECT_EQ(event_refusal(R"({"job":"j"})").field, "type");
  EXPECT_EQ(event_refusal(R"({"job":"j","type":"job.changed"})").field, "to");
  EXPECT_EQ(input_refusal(R"({"job":"j","project":"p","queue":"q","type":"submit"})").field,
            "spec");
  EXPECT_EQ(input_refusal(R"({"job":"j","type":"request"})").field, "action");
  EXPECT_FALSE(decode_event(json::Value::integer(1)).ok());
  EXPECT_FALSE(decode_input(json::Value()).ok());
}

TEST(Codec, WordsAreChecked) {
  const Error type = event_refusal(R"({"job":"j","type":"job.archive"})");
  EXPECT_EQ(type.field, "type");
  EXPECT_NE(type.hint.find("job.archived"), std::string::npos);
  const Error status = event_refusal(R"({"job":"j","to":"RUNING","type":"job.changed"})");
  EXPECT_EQ(status.field, "to");
  EXPECT_NE(status.hint.find("RUNNING"), std::string::npos);
  EXPECT_EQ(input_refusal(R"({"action":"stop","job":"j","type":"request"})").field, "action");
}

TEST(Codec, AmountsKeepTheirLimits) {
  const auto resources = [](const char* text) {
    return refusal(decode_resources(parsed(text), "per_place"));
  };
  EXPECT_EQ(resources(R"({"milli_cpus":-1})").field, "per_place.milli_cpus");
  EXPECT_EQ(resources(R"({"milli_cpus":-1})").value, "-1");
  EXPECT_EQ(resources(R"({"milli_cpus":1000000001})").field, "per_place.milli_cpus");
  EXPECT_EQ(resources(R"({"memory":9223372036854775807})").field, "per_place.memory");
  EXPECT_EQ(resources(R"({"accelerators":{"H100":0}})").field, "per_place.accelerators.H100");
  EXPECT_EQ(resources(R"({"accelerators":{"H100":-2}})").field, "per_place.accelerators.H100");
  EXPECT_EQ(resources(R"({"accelerators":{"H100":"2"}})").field, "per_place.accelerators.H100");
  EXPECT_EQ(resources(R"({"accelerators":[]})").field, "per_place.accelerators");
  EXPECT_EQ(resources("7").field, "per_place");
  EXPECT_EQ(event_refusal(R"({"job":"j","lane":-1,"type":"lane.closed"})").field, "lane");
  EXPECT_EQ(event_refusal(R"({"attempt":{"job":"j","step":2147483648},"lane":1,)"
                          R"("type":"attempt.running"})")
                .field,
            "attempt.step");
  EXPECT_EQ(event_refusal(R"({"job":"j","ranges":[[0,5],[7,7]],"to":"QUEUED",)"
                          R"("type":"tasks.changed"})")
                .field,
            "ranges");
  EXPECT_EQ(event_refusal(R"({"attempt":{"job":"j"},"first_failed":-2,"lane":1,"task":"FAILED",)"
                          R"("to":"FAILED","type":"attempt.ended"})")
                .field,
            "first_failed");
}

TEST(Codec, NodesAreChecked) {
  const auto node = [](const char* text) { return refusal(decode_node_info(parsed(text), "")); };
  EXPECT_EQ(node(R"({"id":""})").field, "id");
  EXPECT_EQ(node(R"({"id":"n","port_first":0})").field, "port_first");
  EXPECT_EQ(node(R"({"id":"n","port_last":70000})").field, "port_last");
  EXPECT_EQ(node(R"({"id":"n","port_first":500,"port_last":400})").field, "port_last");
  EXPECT_EQ(node(R"({"id":"n","price_micros":-1})").field, "price_micros");
  EXPECT_EQ(check_node(NodeInfo{.id = NodeId("n"), .capacity = {.milli_cpus = -1}}).error().field,
            "capacity.milli_cpus");
}

TEST(CodecDeathTest, WhatCouldNotBeReadBackIsNeverWritten) {
  EXPECT_DEATH(encode_text(Event(LaneClosed{LaneId(-1), JobId("j")})), "below its least");
  EXPECT_DEATH(text_of(Resources{.milli_cpus = kMilliCpusMax + 1}), "above its most");
  EXPECT_DEATH(encode_text(Event(JobSubmitted{.job = JobId("j")})), "without its specification");
}

// A job that was stored before jobs kept their submitter's shell is read as one without it.
TEST(Codec, TheShellsVariablesAreAnObjectAndMayBeMissing) {
  JobSpec spec;
  spec.name = "x";
  spec.steps = {StepSpec{.name = "s", .run = Command::shell("true")}};
  const std::string without = encode_text(spec);
  EXPECT_EQ(without.find("environment"), std::string::npos) << without;
  const auto read = [](const std::string& text) {
    const std::string event = "{\"job\":\"j\",\"project\":\"p\",\"queue\":\"q\",\"spec\":" + text +
                              ",\"type\":\"job.submitted\"}";
    return *std::get<JobSubmitted>(MUST(decode_event(parsed(event)))).spec;
  };
  EXPECT_TRUE(read(without).environment.empty());
  spec.environment = {{"HOME", "/root"}, {"PATH", "/bin"}};
  const std::string with = encode_text(spec);
  EXPECT_NE(with.find("\"environment\":{\"HOME\":\"/root\",\"PATH\":\"/bin\"}"), std::string::npos)
      << with;
  EXPECT_EQ(read(with), spec);
}

}  // namespace
}  // namespace runnel::model
