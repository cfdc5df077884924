#include "search/pruner.h"

#include "base/check.h"
#include "search/asha.h"
#include "search/hyperband.h"
#include "search/median_stopping.h"

namespace runnel::search {

std::unique_ptr<Pruner> make_pruner(const model::PrunerSpec& spec, bool can_pause) {
  using Kind = model::PrunerSpec::Kind;
  const auto type = can_pause ? Asha::Type::kPromotion : Asha::Type::kStopping;
  switch (spec.kind) {
    case Kind::kAsha: return std::make_unique<Asha>(spec, type);
    case Kind::kHyperband: return std::make_unique<Hyperband>(spec, type);
    case Kind::kMedian: return std::make_unique<MedianStopping>(spec);
  }
  CHECK(false, "a pruner of a kind that nobody knows");
}

}  // namespace runnel::search
