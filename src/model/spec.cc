#include "model/spec.h"

namespace runnel::model {

bool same_spec(const JobSpec* a, const JobSpec* b) {
  if (a == nullptr || b == nullptr) return a == b;
  return *a == *b;
}

}  // namespace runnel::model
