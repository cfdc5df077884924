#pragma once

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>

#include "json/value.h"
#include "model/fields.h"

namespace runnel::volume {

namespace detail {

// The names of a record's members.
struct Names {
  std::set<std::string, std::less<>> all;
  void operator()(std::string_view name, const auto&...) { all.emplace(name); }
};

}  // namespace detail

// Leaves a document the members that a T has: what a later build adds is passed over, where that is
// better than to take it for damage.
template <typename T>
void keep_known_members(json::Value& document) {
  detail::Names known;
  const T value;
  model::Fields<T>::visit(known, value);
  std::erase_if(document.as_object(),
                [&known](const auto& member) { return !known.all.contains(member.first); });
}

}  // namespace runnel::volume
