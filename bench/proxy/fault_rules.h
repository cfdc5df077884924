#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/split_mix.h"

namespace runnel::bench {

// What a bad network, or a bad store, does to a request.
enum class Fault : std::uint8_t {
  kNone,
  kInternalError,  // 500, and the server is not asked.
  kBusy,           // 503 SlowDown, and the server is not asked.
  kReset,          // The connection breaks before the server is asked,
  kLost,           // or when it has done what was asked: nobody tells.
  kTruncate,       // Half of the answer comes, then the end.
  kStall,          // Half of the answer comes, the rest a while later.
  kFlip,           // One bit of a body is another: of the request's, if it has one.
};

inline constexpr std::array<std::pair<std::string_view, Fault>, 7> kFaults{
    {{"500", Fault::kInternalError},
     {"503", Fault::kBusy},
     {"reset", Fault::kReset},
     {"lost", Fault::kLost},
     {"truncate", Fault::kTruncate},
     {"stall", Fault::kStall},
     {"flip", Fault::kFlip}}};

template <typename Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// Which requests fail, and how: rules with commas between, of which the first that applies counts.
//
//   [METHOD/]KIND:SHARE          a share of the requests, 0 to 1, by the seed's dice
//   [METHOD/]KIND@FIRST[-LAST]   the requests with these numbers; the first after the rules is 1
//
// Threads: none of its own.
class FaultRules {
 public:
  static Result<FaultRules> parse(std::string_view text, std::uint64_t seed) {
    FaultRules rules(seed);
    while (!text.empty()) {
      const std::size_t comma = text.find(',');
      rules.rules_.push_back(TRY(parse_rule(text.substr(0, comma))));
      text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    }
    return rules;
  }

  // Of the next request.
  Fault next(std::string_view method) {
    Fault found = Fault::kNone;
    for (Rule& rule : rules_) {
      if (!rule.method.empty() && rule.method != method) continue;
      ++rule.seen;
      const bool applies =
          rule.last > 0 ? rule.first <= rule.seen && rule.seen <= rule.last : draw() < rule.share;
      if (applies && found == Fault::kNone) found = rule.fault;
    }
    return found;
  }
  std::uint64_t number() { return dice_.next(); }

 private:
  struct Rule {
    std::string method;  // Empty: any.
    Fault fault = Fault::kNone;
    double share = 0;
    std::uint64_t first = 0;
    std::uint64_t last = 0;  // 0: it goes by the share.
    std::uint64_t seen = 0;
  };
  explicit FaultRules(std::uint64_t seed) : dice_(seed) {}

  static Result<Rule> parse_rule(std::string_view text) {
    const Error wrong = Error(Errc::kInvalid, "a fault is [METHOD/]KIND:SHARE or @FIRST[-LAST]")
                            .with_field("faults")
                            .with_value(std::string(text));
    Rule rule;
    const std::size_t slash = text.find('/');
    if (slash != std::string_view::npos) {
      rule.method = text.substr(0, slash);
      text.remove_prefix(slash + 1);
    }
    const std::size_t sign = text.find_first_of(":@");
    if (sign == std::string_view::npos) return wrong;
    for (const auto& [name, fault] : kFaults) {
      if (name == text.substr(0, sign)) rule.fault = fault;
    }
    if (rule.fault == Fault::kNone) return wrong;
    const bool is_set = text[sign] == ':' ? set_share(rule, text.substr(sign + 1))
                                          : set_numbers(rule, text.substr(sign + 1));
    if (!is_set) return wrong;
    return rule;
  }
  static bool set_share(Rule& rule, std::string_view text) {
    const auto share = number_of<double>(text);
    rule.share = share.value_or(-1);
    return rule.share >= 0 && rule.share <= 1;
  }
  static bool set_numbers(Rule& rule, std::string_view text) {
    const std::size_t dash = text.find('-');
    const auto first = number_of<std::uint64_t>(text.substr(0, dash));
    const auto last =
        dash == std::string_view::npos ? first : number_of<std::uint64_t>(text.substr(dash + 1));
    if (!first || !last || *first == 0 || *last < *first) return false;
    rule.first = *first;
    rule.last = *last;
    return true;
  }

  double draw() { return static_cast<double>(dice_.next() >> 11) * 0x1p-53; }

  SplitMix64 dice_;
  std::vector<Rule> rules_;
};

}  // namespace runnel::bench
