#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "model/limits.h"
#include "spec/scope.h"

namespace runnel::spec {

// Readers of single values. Each returns nothing after it has reported a fault: value, limit,
// remedy.
//
// `${NAME}` in a value is filled from the scope's variables, unless a reader says "verbatim".

using model::Limits;

struct DurationRange {
  Duration low;
  Duration high;
};

// The text of a scalar as written; a list, a mapping or null is a fault.
std::optional<std::string> read_verbatim(Scope& scope, const Item& item);
// The same with `${NAME}` filled; `$${` stands for `${`.
std::optional<std::string> read_text(Scope& scope, const Item& item);
// A text, or a list of texts; each with its own place.
std::vector<Item> texts_of(Scope& scope, const Item& item);

std::optional<std::int64_t> read_integer(Scope& scope, const Item& item, Limits limits);
// `4`. `4+`, `4..8` are known and not in this version.
std::optional<std::int64_t> read_count(Scope& scope, const Item& item, Limits limits);
std::optional<bool> read_boolean(Scope& scope, const Item& item);
// Thousandths of a core from `0.5`, `16` or `16+`.
std::optional<std::int64_t> read_cpus(Scope& scope, const Item& item);
// `24GB`, `24GB+` and `24GB..` alike.
std::optional<Bytes> read_bytes(Scope& scope, const Item& item, Bytes low);
std::optional<Duration> read_duration(Scope& scope, const Item& item, Duration low);
// `30s` or `30s..10m`.
std::optional<DurationRange> read_durations(Scope& scope, const Item& item);
// Dollars from `2.5`, at most kPriceMax; `what` is written, "dollars per hour".
std::optional<Money> read_money(Scope& scope, const Item& item,
                                const std::string& what = "dollars per hour");

// Whole devices by name from `H100:8`, `H100` or {H100: 8}.
using Accelerators = std::map<std::string, std::int64_t>;
std::optional<Accelerators> read_accelerators(Scope& scope, const Item& item);

// YAML 1.2's integers: decimal (010 is ten), 0x1F and 0o17.
std::optional<std::int64_t> integer_of(std::string_view text);
// Thousandths of a decimal number without sign or exponent; nothing when it has more than `digits`
// decimals or is too large. `scale` is 10 to the power of `digits`.
std::optional<std::int64_t> scaled_decimal(std::string_view text, int digits);

}  // namespace runnel::spec
