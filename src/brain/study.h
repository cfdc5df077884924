#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/units.h"
#include "model/event.h"

namespace runnel::brain {

// What a trial told on its way, as far as decisions used it.
struct TrialReport {
  std::int64_t at = 0;              // The step of the training.
  std::vector<std::string> values;  // One per objective, as reported.
  AttemptNumber attempt = {};       // The one that told it; zero in what earlier builds stored.
  friend bool operator==(const TrialReport&, const TrialReport&) = default;
};

// A member of a population left its way for another's.
struct TrialMove {
  std::int64_t donor = 0;                                 // From whose checkpoint it went on.
  std::int64_t at = 0;                                    // Its own last step before.
  std::int64_t reports = 0;                               // How many it had told until then.
  std::vector<std::pair<std::string, std::string>> left;  // Its parameters until then.
  friend bool operator==(const TrialMove&, const TrialMove&) = default;
};

// A trial that was asked for. Its task has the same index.
struct Trial {
  std::vector<std::pair<std::string, std::string>> params;
  // Their steps grow within an attempt; one that went back to an earlier step replaces what was
  // told from there on, and the last of all is what the trial came to.
  std::vector<TrialReport> reports;
  std::vector<TrialMove> moves;
  bool parked = false;  // Paused by the search, not by a user.
  std::optional<model::TrialEnd> told;

  // What it told of the weights that it has: since it moved last.
  std::span<const TrialReport> own_reports() const {
    const std::span<const TrialReport> all(reports);
    return moves.empty() ? all : all.subspan(static_cast<std::size_t>(moves.back().reports));
  }
  // Those of all reports that nothing replaced.
  std::vector<TrialReport> standing_reports() const;
  friend bool operator==(const Trial&, const Trial&) = default;
};

// The search of a step, docs/design/search.md.
struct Study {
  // What samplers and pruners were told, in which order: with it they can be told again.
  struct Moment {
    enum class What : std::uint8_t { kAsked, kReported, kPromoted, kTold, kMoved };
    What what = What::kAsked;
    std::int64_t trial = 0;
    friend bool operator==(const Moment&, const Moment&) = default;
  };
  std::vector<Trial> trials;  // By index.
  std::vector<Moment> history;
  std::int64_t best = -1;   // The best trial, -1 while none gave a value.
  std::string stopped;      // Why it was given up, if it was.
  std::int64_t parked = 0;  // How many are; follows from the trials.
  Time begun_at;            // When the first trial was asked for.

  friend bool operator==(const Study&, const Study&) = default;
};

}  // namespace runnel::brain
