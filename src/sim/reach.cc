#include "sim/reach.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace runnel::sim {
namespace {

using model::Parameter;
using model::Status;

Reach method_reach(model::SearchSpec::Method method) {
  using Method = model::SearchSpec::Method;
  switch (method) {
    case Method::kAuto: return Reach::kAuto;
    case Method::kGrid: return Reach::kGrid;
    case Method::kRandom: return Reach::kRandom;
    case Method::kTpe: return Reach::kTpe;
    case Method::kCmaEs: return Reach::kCmaEs;
    case Method::kGp: return Reach::kGp;
    case Method::kNsga2: return Reach::kNsga2;
    case Method::kPbt: return Reach::kPbt;
  }
  CHECK(false, "a method that is none");
  return Reach::kAuto;
}

Reach kind_reach(const Parameter& parameter) {
  switch (parameter.kind) {
    case Parameter::Kind::kChoice: return Reach::kChoice;
    case Parameter::Kind::kRange: return parameter.log ? Reach::kLogRange : Reach::kRange;
    case Parameter::Kind::kUniform:
      return parameter.step.empty() ? Reach::kUniform : Reach::kStepped;
    case Parameter::Kind::kLogUniform: return Reach::kLogUniform;
  }
  CHECK(false, "a parameter of no kind");
  return Reach::kUniform;
}

// Reads a log from its start.
class Counter {
 public:
  void take(const model::Event& event) {
    std::visit([this](const auto& what) { see(what); }, event);
  }
  const ReachCounts& counts() const { return counts_; }

 private:
  enum class Ruling : std::uint8_t { kStopped, kParked, kPromoted };

  void count(Reach what, std::int64_t times = 1) {
    counts_[static_cast<std::size_t>(what)] += times;
  }
  const model::StepSpec& spec(const JobId& job, StepIndex step) const {
    return specs_.at(job)->steps.at(static_cast<std::size_t>(step.value()));
  }

  template <typename T>
  void see(const T& /*event*/) {}
  void see(const model::JobSubmitted& event) { specs_[event.job] = event.spec; }
  void see(const model::NodeJoined& event) {
    if (event.node.spot) spot_.insert(event.node.id);
  }
  void see(const model::NodeLeft& event) {
    if (event.reason == "HeartbeatLost") count(Reach::kLeasesEnded);
  }
  void see(const model::NodeLeaving& /*event*/) { count(Reach::kNotices); }
  void see(const model::LaneOpened& event) {
    const std::vector<model::Place>& places = model::places_of(event.holding);
    const bool spot = std::any_of(places.begin(), places.end(),
                                  [&](const auto& place) { return spot_.contains(place.node); });
    if (spot) count(Reach::kSpotLanes);
    if (spec(event.job, event.step).whole_node) count(Reach::kWholeNodes);
  }
  void see(const model::AttemptStopping& event) {
    if (event.because == Status::kPreempted) count(Reach::kNoticed);
    const model::TaskRef& task = event.attempt.task;
    if (event.because == Status::kPruned) rule(spec(task.job, task.step), Ruling::kStopped);
  }
  void see(const model::RankEnded& event) {
    if (event.cause == model::EndCause::kNotStarted) count(Reach::kNotStarted);
  }
  void see(const model::AttemptEnded& event) {
    if (event.to == Status::kOutOfMemory) count(Reach::kMemoryMax);
  }
  void see(const model::TrialParked& event) { rule(spec(event.job, event.step), Ruling::kParked); }
  void see(const model::TrialPromoted& event) {
    rule(spec(event.job, event.step), Ruling::kPromoted);
  }
  void see(const model::TrialMoved& /*event*/) { count(Reach::kMoved); }
  void see(const model::TaskWarned& event) {
    if (event.reason == model::HealthProblem::kMetricMissing) count(Reach::kMisspelt);
  }
  void see(const model::TrialAsked& event) {
    const model::StepSpec& step = spec(event.job, event.step);
    const model::SearchSpec& search = *step.search;
    count(method_reach(search.method));
    if (event.trial.value() < std::ssize(search.start)) count(Reach::kStart);
    if (!search.from.empty()) count(Reach::kFrom);
    if (step.is_external()) count(Reach::kExternal);
    if (search.objectives.size() > 1) count(Reach::kSeveral);
    for (const Parameter& parameter : step.params) see_value(parameter, event);
  }
  void see_value(const Parameter& parameter, const model::TrialAsked& event) {
    const bool drawn = std::any_of(event.params.begin(), event.params.end(),
                                   [&](const auto& each) { return each.first == parameter.name; });
    if (!drawn) return count(Reach::kLeftOut);
    count(kind_reach(parameter));
    if (parameter.when) count(Reach::kConditional);
  }
  void rule(const model::StepSpec& step, Ruling ruling) {
    if (!step.search || !step.search->pruner) return;
    const auto kind = step.search->pruner->kind;
    if (kind == model::PrunerSpec::Kind::kMedian) return count(Reach::kMedianStopped);
    const bool asha = kind == model::PrunerSpec::Kind::kAsha;
    switch (ruling) {
      case Ruling::kStopped: return count(asha ? Reach::kAshaStopped : Reach::kHyperbandStopped);
      case Ruling::kParked: return count(asha ? Reach::kAshaParked : Reach::kHyperbandParked);
      case Ruling::kPromoted: return count(asha ? Reach::kAshaPromoted : Reach::kHyperbandPromoted);
    }
  }

  ReachCounts counts_{};
  std::map<JobId, std::shared_ptr<const model::JobSpec>> specs_;
  std::set<NodeId> spot_;
};

constexpr std::array<std::string_view, kReachCounts> kWords = {"places: %lanes on spot nodes",
                                                               "leases ended",
                                                               "notices",
                                                               "attempts asked to end by one",
                                                               "lanes of a whole node",
                                                               "attempts out of memory",
                                                               "ranks that never started",
                                                               "nodes: %inventories in parts",
                                                               "reports in several messages",
                                                               "trials: %auto",
                                                               "grid",
                                                               "random",
                                                               "tpe",
                                                               "cma-es",
                                                               "gp",
                                                               "nsga2",
                                                               "pbt",
                                                               "at a start point",
                                                               "after earlier ones",
                                                               "external",
                                                               "of several objectives",
                                                               "moved",
                                                               "with a misspelt metric",
                                                               "pruners: %asha stopped",
                                                               "parked",
                                                               "promoted",
                                                               "hyperband stopped",
                                                               "parked",
                                                               "promoted",
                                                               "median stopped",
                                                               "values: %uniform",
                                                               "in steps",
                                                               "loguniform",
                                                               "range",
                                                               "logarithmic range",
                                                               "choice",
                                                               "conditional",
                                                               "left out"};

}  // namespace

// A word that begins a line has its title before the number.
std::string reach_lines(const ReachCounts& counts) {
  std::string text;
  for (std::size_t index = 0; index < counts.size(); ++index) {
    const std::string_view word = kWords[index];
    const std::size_t title = word.find('%');
    const bool begins = title != std::string_view::npos;
    if (index > 0) text += begins ? "\n" : ", ";
    if (begins) text += word.substr(0, title);
    text += std::to_string(counts[index]) + " ";
    text += begins ? word.substr(title + 1) : word;
  }
  return text + "\n";
}

ReachCounts count_reach(const std::vector<model::Event>& log, const Truth& truth) {
  Counter counter;
  for (const model::Event& event : log) counter.take(event);
  ReachCounts counts = counter.counts();
  counts[static_cast<std::size_t>(Reach::kPartedInventories)] = truth.parted_inventories;
  counts[static_cast<std::size_t>(Reach::kPartedReports)] = truth.parted_reports;
  return counts;
}

}  // namespace runnel::sim
