#pragma once

#include <functional>
#include <string>
#include <vector>

#include "async/async.h"
#include "control/api/known_jobs.h"
#include "control/api/queries.h"
#include "control/api/route.h"
#include "control/controller.h"
#include "http/message.h"
#include "model/input.h"

namespace runnel::control {

// The trials of a search, read and run by a client.
//
// Threads:  the loop's only.
// Lifetime: what it is given outlives it; it outlives its table.
class TrialRoutes {
 public:
  TrialRoutes(Controller& controller, KnownJobs& jobs) : controller_(controller), jobs_(jobs) {}

  std::vector<Route> table();

 private:
  Async<http::Reply> list(Ask ask, TrialListQuery wanted);
  Async<http::Reply> get(Ask ask, StudyQuery wanted);
  Async<http::Reply> importance(Ask ask, StudyQuery wanted);
  // Makes a document of a study.
  using StudyView = std::function<Result<std::string>(const brain::Job&, StepIndex)>;
  Async<http::Reply> view(Ask ask, std::string step, StudyView view);
  Async<http::Reply> ask(Ask ask, StudyQuery wanted);
  Async<http::Reply> report(Ask ask, StudyQuery wanted);
  Async<http::Reply> tell(Ask ask, StudyQuery wanted);
  Async<http::Reply> call(Ask ask, std::string step, model::TrialCall::Verb verb);
  Result<model::TrialCall> read_call(const http::Request& request, const std::string& step_name,
                                     const JobId& id, model::TrialCall::Verb verb) const;

  Controller& controller_;
  KnownJobs& jobs_;
};

}  // namespace runnel::control
