#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "model/search_spec.h"
#include "search/space.h"
#include "search/standing.h"

namespace runnel::search {

// What a member that does badly should do: go on from the donor's checkpoint with another point.
struct Exploit {
  std::int64_t donor = 0;
  Point point;
};

// Population-based training, asynchronous, with truncation selection (Jaderberg et al., "Population
// Based Training of Neural Networks", arXiv 1711.09846, algorithm 1 and section 4.1.1).
//
// Each member is judged by its latest report; of n that have one, quantile_percent of n, rounded
// down but at least one, are the worst and as many the best. One that reports and is among the
// worst takes over a random one of the best and explores from its point; not again while that one
// has reported nothing since: it would train the same interval over and over. After it, judgement
// waits until it is `every` steps beyond the donor's report. A member that is alone is left in
// peace. A report at max_step or after it is not judged.
//
// Contract: a function of its construction and of the calls of moved(), reported() and ended(), in
//           their order. moved() comes before a member's first report. Values are finite and
//           smaller ones better; all steps of one member grow from one moved() to the next. Chance
//           is taken from (seed, trial, step) alone. An Exploit that is not followed by moved() did
//           not happen.
// Cost:     O(n) a report; a population is small.
class Population {
 public:
  // `axes`: Space::axes(). An Exploit's point needs no repair.
  Population(const model::PopulationSpec& spec, std::vector<Axis> axes, std::uint64_t seed);

  // The first step after `step` at which a report is judged, or which a later one stands for.
  std::optional<std::int64_t> next_step(std::int64_t trial, std::int64_t step) const;
  std::optional<Exploit> reported(std::int64_t trial, std::int64_t step, double value);
  // The trial runs with this point from now on: it began, or did what an Exploit said. What it
  // reported before was of weights that it gave up.
  void moved(std::int64_t trial, Point point);
  // It is a member no more, and nobody's donor.
  void ended(std::int64_t trial);

 private:
  // A report of a member that another one may take over.
  struct Source {
    std::int64_t trial = 0;
    std::int64_t step = 0;
  };
  struct Member {
    Point point;
    std::optional<double> value;  // Its latest report.
    std::int64_t judged_step = 0;
    std::optional<Source> offered;               // Of its last Exploit.
    std::map<std::int64_t, std::int64_t> taken;  // The last report taken over, by its member.
  };

  // The best `count` members of which this one has not taken over what they reported last.
  std::vector<std::int64_t> donors_for(const Member& member, std::size_t count) const;

  void forget_report(std::int64_t trial, Member& member);
  std::size_t quantile() const;

  model::PopulationSpec spec_;
  std::vector<Axis> axes_;
  std::uint64_t seed_;
  std::map<std::int64_t, Member> members_;
  std::set<Standing> standings_;  // Those that have a report.
};

}  // namespace runnel::search
