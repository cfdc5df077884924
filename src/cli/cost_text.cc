#include "cli/cost_text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "cli/print.h"

namespace runnel::cli {
namespace {

double number(const json::Value& cost, std::string_view key) {
  const json::Value* value = cost.find(key);
  return value == nullptr ? 0 : std::strtod(value->dump().c_str(), nullptr);
}

// Cents are enough for large sums, four digits for small ones.
std::string money(double dollars) {
  char text[64];
  std::snprintf(text, sizeof text, dollars >= 10 ? "$%.2f" : "$%.4f", dollars);
  return text;
}

}  // namespace

std::string without_zeros(std::string number) {
  if (number.find('.') == std::string::npos) return number;
  number.erase(number.find_last_not_of('0') + 1);
  if (number.back() == '.') number.pop_back();
  return number;
}

std::string price_text(Money price) { return without_zeros(dollars(price)); }

std::string thousandths(std::int64_t thousandths) {
  constexpr std::size_t kDecimals = 3;
  CHECK(thousandths >= 0, "an amount below nothing");
  std::string text = std::to_string(thousandths);
  if (text.size() <= kDecimals) text.insert(0, kDecimals + 1 - text.size(), '0');
  return without_zeros(text.insert(text.size() - kDecimals, "."));
}

std::string cost_text(const json::Value& document, Time now) {
  const json::Value* cost = document.find("cost");
  if (cost == nullptr) return "";
  const auto as_of = parse_rfc3339(text_of(*cost, "as_of"));
  const double hours =
      as_of.ok() ? static_cast<double>(std::max<std::int64_t>(0, (now - *as_of).millis())) / 3.6e6
                 : 0;
  CHECK(hours >= 0, "a cost of the future");
  const double per_hour = number(*cost, "spent_per_hour");
  const double spent = number(*cost, "spent") + per_hour * hours;
  const double list = number(*cost, "list") + number(*cost, "list_per_hour") * hours;
  std::string text = money(spent);
  if (per_hour > 0) text += " so far, " + money(per_hour) + " an hour";
  if (list > spent && spent > 0) {
    char percent[16];
    std::snprintf(percent, sizeof percent, "%.0f", 100 * (list - spent) / list);
    text += "; spot saved " + money(list - spent) + " (" + percent + " %)";
  }
  return text;
}

}  // namespace runnel::cli
