#include "sim/client.h"

#include <algorithm>
#include <string>

namespace runnel::sim {
namespace {

constexpr Duration kAskAgain = Duration::millis(700);
// A request that keeps being refused ("still ending") is given up; a submission never.
constexpr int kRequestsMax = 6;

}  // namespace

Clients::Clients(const Scenario& scenario, Wiring wiring)
    : scenario_(scenario),
      agenda_(*wiring.agenda),
      control_(*wiring.control),
      seen_(*wiring.seen),
      states_(scenario.wishes.size()),
      ids_(scenario.jobs.size()) {}

void Clients::start() {
  for (std::size_t wish = 0; wish < scenario_.wishes.size(); ++wish) {
    agenda_.at(scenario_.wishes[wish].at, [this, wish] { ask(wish); });
  }
}

void Clients::crash() {
  for (State& state : states_) ++state.generation;
}

bool Clients::done() const {
  for (std::size_t wish = 0; wish < states_.size(); ++wish) {
    if (!states_[wish].answered && !has_given_up(wish)) return false;
  }
  return true;
}

bool Clients::has_given_up(std::size_t wish) const {
  const Wish& what = scenario_.wishes[wish];
  return !what.submit && states_[wish].asked >= (what.once ? 1 : kRequestsMax);
}

void Clients::ask(std::size_t wish) {
  State& state = states_[wish];
  if (state.answered || has_given_up(wish)) return;
  if (scenario_.wishes[wish].submit) {
    submit(wish);
  } else {
    request(wish);
  }
  ask_again_later(wish);
}

void Clients::ask_again_later(std::size_t wish) {
  agenda_.after(kAskAgain, [this, wish] { ask(wish); });
}

void Clients::submit(std::size_t wish) {
  ++states_[wish].asked;
  const std::size_t job = scenario_.wishes[wish].job;
  // Two users have the same keys, each for a job of their own.
  const std::string actor = job % 2 == 0 ? "ada" : "bob";
  const std::string key = "key" + std::to_string(job / 2);
  control_.submit(actor, key, scenario_.jobs[job],
                  [this, wish, job, actor, key,
                   born = states_[wish].generation](const control::Outcome& answer) {
                    State& state = states_[wish];
                    if (state.generation != born || answer.refusal.has_value()) return;
                    state.answered = true;
                    ids_[job] = answer.job;
                    seen_.answers.push_back({{ProjectId("default"), actor, key}, answer.job});
                  });
}

void Clients::request(std::size_t wish) {
  const Wish& what = scenario_.wishes[wish];
  if (!ids_[what.job].has_value()) return;
  ++states_[wish].asked;
  control_.request({what.verb, *ids_[what.job], "someone", ""},
                   [this, wish, born = states_[wish].generation](const control::Outcome& answer) {
                     State& state = states_[wish];
                     if (state.generation != born) return;
                     const bool later =
                         answer.refusal.has_value() && answer.refusal->code != Errc::kNotFound;
                     if (!later) state.answered = true;
                   });
}

}  // namespace runnel::sim
