// What holds for every pruner, over thousands of random sequences of calls.
#include "search/pruner.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "search/permutation.h"
#include "search/standing.h"

namespace runnel::search {
namespace {

using model::PrunerSpec;

constexpr std::uint64_t kSequences = 500;
constexpr int kCalls = 400;

// One call and what came of it, to be told again.
struct Call {
  enum class Kind : std::uint8_t { kReported, kEnded, kPromoted };
  Kind kind = Kind::kReported;
  std::int64_t trial = 0;
  std::int64_t step = 0;
  double value = 0;
  Verdict verdict = Verdict::kGoOn;
};

// The definition of ASHA's promotion type, word by word.
class PlainRungs {
 public:
  explicit PlainRungs(const PrunerSpec& spec) : spec_(spec) {}

  Verdict reported(std::int64_t trial, std::int64_t step, double value) {
    std::int64_t judged_at = 0;
    for (std::int64_t rung = spec_.min_step; rung <= std::min(step, spec_.max_step - 1);
         rung *= spec_.eta) {
      if (rung <= last_step_[trial]) continue;
      rungs_[rung].entered.insert({value, trial});
      judged_at = rung;
    }
    last_step_[trial] = step;
    if (judged_at == 0 || step >= spec_.max_step) return Verdict::kGoOn;
    if (may_go_on(judged_at, {value, trial})) {
      go_on(judged_at, trial);
      return Verdict::kGoOn;
    }
    rungs_[judged_at].paused.insert({value, trial});
    paused_at_[trial] = {judged_at, value};
    return Verdict::kPause;
  }

  void ended(std::int64_t trial) {
    if (paused_at_.contains(trial)) unpause(trial);
  }

  std::optional<std::int64_t> promotable() const {
    for (auto rung = rungs_.rbegin(); rung != rungs_.rend(); ++rung) {
      const auto& paused = rung->second.paused;  // When any of them may go on, the first may.
      if (!paused.empty() && may_go_on(rung->first, *paused.begin())) return paused.begin()->trial;
    }
    return std::nullopt;
  }

  void promoted(std::int64_t trial) {
    const auto [rung, value] = paused_at_.at(trial);
    EXPECT_TRUE(may_go_on(rung, {value, trial})) << "promoted without being among the best";
    unpause(trial);
    go_on(rung, trial);
  }

 private:
  struct Level {
    std::set<Standing> entered;
    std::set<Standing> paused;
    std::set<std::int64_t> went_on;
  };

  std::size_t places(std::int64_t rung) const {
    return rungs_.at(rung).entered.size() / static_cast<std::size_t>(spec_.eta);
  }

  bool may_go_on(std::int64_t rung, const Standing& standing) const {
    const Level& level = rungs_.at(rung);
    const auto better =
        std::count_if(level.entered.begin(), level.entered.end(),
                      [&](const Standing& other) { return other.value < standing.value; });
    return static_cast<std::size_t>(better) < places(rung);
  }

  void go_on(std::int64_t rung, std::int64_t trial) {
    auto& went_on = rungs_.at(rung).went_on;
    EXPECT_TRUE(went_on.insert(trial).second) << "went on twice from rung " << rung;
  }

  void unpause(std::int64_t trial) {
    const auto [rung, value] = paused_at_.at(trial);
    rungs_.at(rung).paused.erase({value, trial});
    paused_at_.erase(trial);
  }

  PrunerSpec spec_;
  std::map<std::int64_t, Level> rungs_;
  std::map<std::int64_t, std::pair<std::int64_t, double>> paused_at_;  // Trial -> rung, value.
  std::map<std::int64_t, std::int64_t> last_step_;
};

// Trials that report, jump, pause, end and are promoted, all by chance.
class RandomStudy {
 public:
  RandomStudy(Pruner& pruner, std::uint64_t key) : pruner_(pruner), key_(key) {}

  // One more call; nothing when the dice had none to make.
  std::optional<Call> turn() {
    const std::uint64_t dice = draw(100);
    if (dice < 10) return end(dice < 5 ? running_ : paused_);
    if (dice < 35) return promote();
    if (dice < 55) running_[next_trial_++] = 0;
    return report();
  }

 private:
  using Trials = std::map<std::int64_t, std::int64_t>;  // Each with its last step.

  std::uint64_t draw(std::uint64_t size) { return derive(key_, drawn_++) % size; }

  Trials::iterator any(Trials& trials) {
    return std::next(trials.begin(), static_cast<std::ptrdiff_t>(draw(trials.size())));
  }

  std::optional<Call> end(Trials& trials) {
    if (trials.empty()) return std::nullopt;
    const auto trial = any(trials);
    const Call call{.kind = Call::Kind::kEnded, .trial = trial->first};
    trials.erase(trial);
    pruner_.ended(call.trial);
    return call;
  }

  std::optional<Call> promote() {
    const auto trial = pruner_.promotable();
    if (!trial) return std::nullopt;
    EXPECT_TRUE(paused_.contains(*trial)) << "promotable, but not paused";
    pruner_.promoted(*trial);
    running_.insert(paused_.extract(*trial));
    return Call{.kind = Call::Kind::kPromoted, .trial = *trial};
  }

  // Mostly at the step that the pruner named, sometimes later; few values, so that many tie.
  std::optional<Call> report() {
    if (running_.empty()) return std::nullopt;
    const auto trial = any(running_);
    const auto named = pruner_.next_step(trial->first, trial->second);
    const auto late = static_cast<std::int64_t>(draw(4) == 0 ? draw(40) : 0);
    const std::int64_t step = named.value_or(trial->second + 1) + late;
    const auto value = static_cast<double>(draw(30));
    EXPECT_GT(step, trial->second) << "named a step that is over";
    trial->second = step;
    const Verdict verdict = pruner_.reported(trial->first, step, value);
    const Call call{Call::Kind::kReported, trial->first, step, value, verdict};
    if (verdict == Verdict::kPause) paused_.insert(running_.extract(trial));
    return call;
  }

  Pruner& pruner_;
  std::uint64_t key_;
  std::uint64_t drawn_ = 0;
  std::int64_t next_trial_ = 0;
  Trials running_;
  Trials paused_;
};

std::vector<Call> random_calls(Pruner& pruner, std::uint64_t key) {
  RandomStudy study(pruner, key);
  std::vector<Call> calls;
  for (int turn = 0; turn < kCalls; ++turn) {
    if (const auto call = study.turn()) calls.push_back(*call);
  }
  return calls;
}

template <typename Told>
void tell_again(Told& told, const std::vector<Call>& calls) {
  for (const Call& call : calls) {
    switch (call.kind) {
      case Call::Kind::kReported:
        ASSERT_EQ(told.reported(call.trial, call.step, call.value), call.verdict);
        break;
      case Call::Kind::kEnded: told.ended(call.trial); break;
      case Call::Kind::kPromoted:
        ASSERT_EQ(told.promotable(), call.trial);
        told.promoted(call.trial);
        break;
    }
  }
}

PrunerSpec spec_of(PrunerSpec::Kind kind, std::uint64_t key) {
  return {.kind = kind,
          .min_step = 1 + static_cast<std::int64_t>(key % 3),
          .max_step = 70,
          .eta = 2 + static_cast<std::int32_t>(key % 3),
          .every = 1 + static_cast<std::int64_t>(key % 5),
          .startup_trials = static_cast<std::int32_t>(key % 4)};
}

TEST(Pruner, PromotesByTheDefinition) {
  for (std::uint64_t key = 0; key < kSequences; ++key) {
    const PrunerSpec spec = spec_of(PrunerSpec::Kind::kAsha, key);
    const auto pruner = make_pruner(spec, true);
    const auto calls = random_calls(*pruner, key);
    PlainRungs plain(spec);
    tell_again(plain, calls);
    ASSERT_FALSE(::testing::Test::HasFailure()) << "sequence " << key;
  }
}

TEST(Pruner, RandomSequencesReachEveryVerdict) {
  std::map<Verdict, int> heard;
  int promotions = 0;
  for (std::uint64_t key = 0; key < 20; ++key) {
    for (const bool can_pause : {true, false}) {
      const auto pruner = make_pruner(spec_of(PrunerSpec::Kind::kAsha, key), can_pause);
      for (const Call& call : random_calls(*pruner, key)) {
        ++heard[call.verdict];
        promotions += call.kind == Call::Kind::kPromoted ? 1 : 0;
      }
    }
  }
  EXPECT_GT(heard[Verdict::kGoOn], 1'000);
  EXPECT_GT(heard[Verdict::kPause], 1'000);
  EXPECT_GT(heard[Verdict::kStop], 1'000);
  EXPECT_GT(promotions, 100);
}

TEST(Pruner, IsWhatTheSpecificationSays) {
  PrunerSpec spec{.min_step = 2, .max_step = 50, .eta = 5, .every = 3};
  EXPECT_EQ(make_pruner(spec, true)->next_step(0, 2), 10);
  EXPECT_EQ(make_pruner(spec, true)->reported(0, 2, 1), Verdict::kPause);
  EXPECT_EQ(make_pruner(spec, false)->reported(0, 2, 1), Verdict::kGoOn);
  spec.kind = PrunerSpec::Kind::kMedian;
  EXPECT_EQ(make_pruner(spec, true)->next_step(0, 2), 5);
  spec.kind = PrunerSpec::Kind::kHyperband;
  std::set<std::optional<std::int64_t>> first_steps;
  for (std::int64_t trial = 0; trial < 100; ++trial) {
    first_steps.insert(make_pruner(spec, true)->next_step(trial, 0));
  }
  EXPECT_EQ(first_steps, (std::set<std::optional<std::int64_t>>{std::nullopt, 2, 10}));
}

TEST(Pruner, ToldAgainJudgesTheSame) {
  using Rule = PrunerSpec::Kind;
  for (const Rule rule : {Rule::kAsha, Rule::kHyperband, Rule::kMedian}) {
    for (std::uint64_t key = 0; key < kSequences; ++key) {
      const bool can_pause = key % 2 == 0;
      const Verdict never = can_pause && rule != Rule::kMedian ? Verdict::kStop : Verdict::kPause;
      const auto pruner = make_pruner(spec_of(rule, key), can_pause);
      const auto calls = random_calls(*pruner, key);
      const auto again = make_pruner(spec_of(rule, key), can_pause);
      tell_again(*again, calls);
      EXPECT_EQ(again->promotable(), pruner->promotable());
      for (const Call& call : calls) EXPECT_NE(call.verdict, never);
      ASSERT_FALSE(::testing::Test::HasFailure()) << "sequence " << key;
    }
  }
}

}  // namespace
}  // namespace runnel::search
