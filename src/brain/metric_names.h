#pragma once

#include <string_view>

namespace runnel::brain {

// Whether a metric that a trial reports as `name` is most likely the search's `metric` misspelt:
// one letter or two are others, or the case, or what stands between the words. Names of which a
// whole word is another (train_loss, val_loss), or a number (top1, top5), are two metrics, and so
// are words of fewer than five letters (mae, mse) but for a doubled or a swapped one.
bool looks_misspelt(std::string_view name, std::string_view metric);

}  // namespace runnel::brain
