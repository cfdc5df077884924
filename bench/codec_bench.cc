// What storing costs: nanoseconds to write and to read each hot event and input.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "model/codec.h"

namespace {

using namespace runnel;         // NOLINT: a bench is a leaf.
using namespace runnel::model;  // NOLINT

// Many short repeats: one of them falls between two slices of whatever else the machine does.
constexpr int kRounds = 500;
constexpr int kRepeats = 400;

AttemptRef attempt_of(std::int64_t index) {
  return {{JobId("01jd3k9x2m7q"), StepIndex(1), TaskIndex(index)}, AttemptNumber(1)};
}

Event attempt_ended(std::int64_t index) {
  return AttemptEnded{.attempt = attempt_of(index),
                      .lane = LaneId(42 + index),
                      .started_at = Time::from_millis(1'795'270'000'000 + index),
                      .ended_at = Time::from_millis(1'795'270'000'250 + index)};
}

Event attempt_failed(std::int64_t index) {
  return AttemptEnded{.attempt = attempt_of(index),
                      .lane = LaneId(42),
                      .to = Status::kFailed,
                      .started_at = Time::from_millis(1'795'270'000'000),
                      .ended_at = Time::from_millis(1'795'270'000'250),
                      .exits = {{0, 1, 0}},
                      .first_failed = 0,
                      .fault = Fault::kUser,
                      .reason = "ExitCode",
                      .message = "rank 0 left with code 1",
                      .task = Status::kRecovering,
                      .not_before = Time::from_millis(1'795'270'030'250),
                      .charged = true};
}

Event lane_extended(std::int64_t index) {
  return LaneExtended{
      .lane = LaneId(42),
      .job = JobId("01jd3k9x2m7q"),
      .step = StepIndex(1),
      .tasks = {{TaskIndex(index), AttemptNumber(1), {{"lr", "0.00012"}, {"width", "128"}}}}};
}

Input node_report(std::int64_t index) {
  RankReport report;
  report.attempt = attempt_of(index);
  report.ended = true;
  report.started_at = Time::from_millis(1'795'270'000'000);
  report.ended_at = Time::from_millis(1'795'270'000'250);
  return NodeReport{NodeId("local"), Incarnation("b1946ac92492d234"), {report}};
}

// The fastest of a few repeats: what it costs when nothing else runs.
template <typename Work>
double best_ns(Work work) {
  double best = 1e18;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    for (int round = 0; round < kRounds; ++round) work();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count() / kRounds);
  }
  return best;
}

template <typename Value, typename Decode>
void measure(const char* name, const Value& value, Decode decode) {
  std::string text;
  const double write_ns = best_ns([&] {
    text.clear();
    json::Writer out(text);
    encode(out, value);
  });
  const json::Value document = MUST(json::parse(text));
  bool same = true;
  const double decode_ns = best_ns([&] { same = same && decode(document).ok(); });
  const double parse_ns = best_ns([&] { same = same && json::parse(text).ok(); });
  std::printf("%-28s %5zu bytes  encode %6.0f ns  parse %6.0f ns  decode %6.0f ns%s\n", name,
              text.size(), write_ns, parse_ns, decode_ns, same ? "" : "  (refused)");
}

}  // namespace

int main() {
  measure("attempt.ended", attempt_ended(17), decode_event);
  measure("attempt.ended, failed", attempt_failed(17), decode_event);
  measure("lane.extended, 1 task", lane_extended(17), decode_event);
  measure("node.report, 1 rank", node_report(17), decode_input);
  return 0;
}
