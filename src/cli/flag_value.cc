#include "cli/flag_value.h"

#include <array>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii_case.h"
#include "base/check.h"
#include "base/nearest.h"

namespace runnel::cli {
namespace {

constexpr std::array<std::pair<std::string_view, Output>, 6> kOutputs = {{{"table", Output::kHuman},
                                                                          {"wide", Output::kWide},
                                                                          {"tsv", Output::kTsv},
                                                                          {"json", Output::kJson},
                                                                          {"yaml", Output::kYaml},
                                                                          {"name", Output::kName}}};

}  // namespace

Result<std::int64_t> parse_number(const std::string& flag, const std::string& text, Limits limits) {
  CHECK(limits.least <= limits.most, "a flag that takes no number at all");
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, value);
  const bool whole = failure == std::errc() && rest == end;
  if (whole && value >= limits.least && value <= limits.most) return value;
  return Error(Errc::kInvalid, "'" + text + "' is not a whole number from " +
                                   std::to_string(limits.least) + " to " +
                                   std::to_string(limits.most))
      .with_field(flag)
      .with_value(text)
      .with_hint("write such a number, or leave the flag out");
}

Result<Output> parse_output(const std::string& text) {
  const std::string word = to_lower(text);
  std::vector<std::string_view> words;
  for (const auto& [name, output] : kOutputs) {
    if (name == word) return output;
    words.push_back(name);
  }
  const std::string near = nearest(word, words);
  return Error(Errc::kInvalid, "'" + text + "' is not a form of output")
      .with_field("--output")
      .with_value(text)
      .with_hint("write table, wide, tsv, json, yaml or name" +
                 (near.empty() ? "" : "; did you mean " + near + "?"));
}

}  // namespace runnel::cli
