#pragma once

#include "spec/step_draft.h"

namespace runnel::spec {

// `metrics`: where a step's metrics are found besides the file of metrics.
void read_metric_sources(Scope& scope, const Item& item, StepDraft& draft);

}  // namespace runnel::spec
