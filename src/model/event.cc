#include "model/event.h"

#include "base/check.h"

namespace runnel::model {
namespace {

struct JobOf {
  template <typename T>
  JobId operator()(const T& event) const {
    if constexpr (requires { event.job; }) {
      return event.job;
    } else if constexpr (requires { event.attempt.task.job; }) {
      return event.attempt.task.job;
    } else {
      return JobId();
    }
  }
};

}  // namespace

std::string_view type_of(const Event& event) {
  CHECK(!event.valueless_by_exception(), "an event holds nothing");
  return std::visit([](const auto& what) { return what.kType; }, event);
}

bool operator==(const JobSubmitted& a, const JobSubmitted& b) {
  return a.job == b.job && a.project == b.project && a.queue == b.queue && a.owner == b.owner &&
         a.idempotency_key == b.idempotency_key && a.body_hash == b.body_hash &&
         a.actor == b.actor && same_spec(a.spec.get(), b.spec.get());
}

JobId job_of(const Event& event) {
  CHECK(!event.valueless_by_exception(), "an event holds nothing");
  return std::visit(JobOf{}, event);
}

}  // namespace runnel::model
