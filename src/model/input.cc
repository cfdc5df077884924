#include "model/input.h"

#include "model/detail/words.h"

namespace runnel::model {
namespace {

constexpr detail::Words<5> kVerbWords = {"cancel", "halt", "resume", "retry", "delete"};
constexpr detail::Words<3> kTrialVerbWords = {"ask", "report", "tell"};

}  // namespace

std::string_view to_string(JobRequest::Verb verb) { return detail::word_of(verb, kVerbWords); }

Result<JobRequest::Verb> parse_verb(std::string_view word) {
  return detail::parse_word<JobRequest::Verb>(word, kVerbWords, "something to ask of a job");
}

std::string_view to_string(TrialCall::Verb verb) { return detail::word_of(verb, kTrialVerbWords); }

Result<TrialCall::Verb> parse_trial_verb(std::string_view word) {
  return detail::parse_word<TrialCall::Verb>(word, kTrialVerbWords, "something to ask of a trial");
}

std::string_view type_of(const Input& input) {
  CHECK(!input.valueless_by_exception(), "an input holds nothing");
  return std::visit([](const auto& what) { return what.kType; }, input);
}

bool operator==(const Submit& a, const Submit& b) {
  return a.job == b.job && a.project == b.project && a.queue == b.queue && a.owner == b.owner &&
         a.idempotency_key == b.idempotency_key && a.body_hash == b.body_hash &&
         a.actor == b.actor && same_spec(a.spec.get(), b.spec.get());
}

}  // namespace runnel::model
