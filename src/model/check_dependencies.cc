#include <algorithm>

#include "base/check.h"
#include "base/shown.h"
#include "model/detail/checks.h"

namespace runnel::model::detail {
namespace {

bool is_step(const JobSpec& spec, StepIndex index) {
  return index.value() >= 0 && static_cast<std::size_t>(index.value()) < spec.steps.size();
}

// Depth first, each step once: the step that is met again while it is on the path closes a cycle.
class CycleFinder {
 public:
  CycleFinder(const Site& job, const JobSpec& spec, StepSite site_of)
      : job_(job), spec_(spec), site_of_(site_of), marks_(spec.steps.size(), Mark::kNew) {}

  void run() {
    for (std::size_t i = 0; i < marks_.size(); ++i) {
      if (marks_[i] == Mark::kNew) visit(i);
    }
  }

 private:
  enum class Mark : std::uint8_t { kNew, kOnPath, kDone };

  // At most kStepsMax deep.
  void visit(std::size_t index) {
    CHECK(marks_[index] == Mark::kNew, "each step is visited once");
    marks_[index] = Mark::kOnPath;
    path_.push_back(index);
    CHECK(path_.size() <= kStepsMax, "a path holds each step once");
    for (const StepIndex next : spec_.steps[index].depends_on) {
      const auto target = static_cast<std::size_t>(next.value());
      if (marks_[target] == Mark::kOnPath) report(index, target);
      if (marks_[target] == Mark::kNew) visit(target);
    }
    CHECK(path_.back() == index, "a path shrinks in the order in which it grew");
    path_.pop_back();
    marks_[index] = Mark::kDone;
  }

  void report(std::size_t from, std::size_t target) {
    const auto begin = std::find(path_.begin(), path_.end(), target);
    CHECK(begin != path_.end(), "the step that closes a cycle is on the path");
    std::string cycle;
    for (auto step = begin; step != path_.end(); ++step) cycle += name(*step) + " -> ";
    site_of_(job_, spec_, from)
        .at("depends_on")
        .refuse("dependency cycle: " + cycle + name(target), name(target),
                "remove one of these dependencies");
  }

  std::string name(std::size_t index) const { return shown(spec_.steps[index].name); }

  const Site& job_;
  const JobSpec& spec_;
  StepSite site_of_;
  std::vector<Mark> marks_;
  std::vector<std::size_t> path_;
};

}  // namespace

void check_dependencies(const Site& at, const JobSpec& spec, const StepSpec& step) {
  Seen<StepIndex> seen;
  for (std::size_t i = 0; i < step.depends_on.size() && !at.full(); ++i) {
    const StepIndex other = step.depends_on[i];
    const Site here = at.at("depends_on").at(i);
    const auto last = static_cast<std::int64_t>(spec.steps.size()) - 1;
    if (!here.within(other.value(), 0, last) || !seen.again(other)) continue;
    const std::string& name = spec.steps[static_cast<std::size_t>(other.value())].name;
    here.refuse("the step '" + shown(name) + "' is listed twice", name, "keep one of the two");
  }
}

void check_cycles(const Site& job, const JobSpec& spec, StepSite site_of) {
  const auto sound = [&](const StepSpec& step) {
    return std::ranges::all_of(step.depends_on, [&](StepIndex i) { return is_step(spec, i); });
  };
  if (std::ranges::all_of(spec.steps, sound)) CycleFinder(job, spec, site_of).run();
}

}  // namespace runnel::model::detail
