#include "model/refs.h"

namespace runnel::model {

std::string to_string(const TaskRef& task) {
  return task.job.str() + "/s" + std::to_string(task.step.value()) + "/t" +
         std::to_string(task.index.value());
}

std::string to_string(const AttemptRef& attempt) {
  return to_string(attempt.task) + "/a" + std::to_string(attempt.attempt.value());
}

}  // namespace runnel::model
