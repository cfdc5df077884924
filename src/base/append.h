#pragma once

#include <iterator>
#include <utility>
#include <vector>

namespace runnel {

// Moves the elements of `more` behind those of `all`.
template <typename T>
void append_all(std::vector<T>& all, std::vector<T> more) {
  if (all.empty()) return all.swap(more);
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace runnel
