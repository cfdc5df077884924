#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/spec.h"
#include "spec/scope.h"

namespace runnel::spec {

// `params`: a scalar, a list, {range}, {uniform}, {loguniform} or {choice} under each name.
// One that is refused leaves a parameter of its name.
std::vector<model::Parameter> read_parameters(Scope& scope, const Item& item);
// `foreach`: a grid of one parameter named `item`.
model::Parameter read_foreach(Scope& scope, const Item& item);

// A mapping of parameters of a search to values.
std::optional<std::vector<std::pair<std::string, std::string>>> read_point(Scope& scope,
                                                                           const Item& item);

// A decimal number in the form of JSON ("0.5" for ".5"), digits otherwise as written; nothing when
// the text is not a finite number.
std::optional<std::string> decimal_text(std::string_view text);

}  // namespace runnel::spec
