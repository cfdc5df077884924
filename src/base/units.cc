#include "base/units.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <limits>
#include <optional>
#include <span>

#include "base/ascii_case.h"
#include "base/check.h"

namespace runnel {
namespace {

__extension__ using Wide = __int128;  // Room for every product below; GCC and Clang have it.

constexpr std::int64_t kInt64Max = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kFractionDigitsMax = 9;

struct Unit {
  std::string_view name;
  std::int64_t size;
};

constexpr std::int64_t kKilo = 1000;
constexpr std::int64_t kKibi = 1024;

// From large to small, the order in which a duration is written.
constexpr std::array<Unit, 5> kDurationUnits = {
    {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}, {"ms", 1}}};

// Units that a person may write, in lower case. A bare number is GB.
constexpr std::array<Unit, 22> kByteUnits = {{
    {"pib", kKibi* kKibi* kKibi* kKibi* kKibi},
    {"pi", kKibi* kKibi* kKibi* kKibi* kKibi},
    {"pb", kKilo* kKilo* kKilo* kKilo* kKilo},
    {"p", kKilo* kKilo* kKilo* kKilo* kKilo},
    {"tib", kKibi* kKibi* kKibi* kKibi},
    {"ti", kKibi* kKibi* kKibi* kKibi},
    {"tb", kKilo* kKilo* kKilo* kKilo},
    {"t", kKilo* kKilo* kKilo* kKilo},
    {"gib", kKibi* kKibi* kKibi},
    {"gi", kKibi* kKibi* kKibi},
    {"gb", kKilo* kKilo* kKilo},
    {"g", kKilo* kKilo* kKilo},
    {"mib", kKibi* kKibi},
    {"mi", kKibi* kKibi},
    {"mb", kKilo* kKilo},
    {"m", kKilo* kKilo},
    {"kib", kKibi},
    {"ki", kKibi},
    {"kb", kKilo},
    {"k", kKilo},
    {"b", 1},
    {"", kKilo* kKilo* kKilo},
}};

// Units that are printed, from large to small.
constexpr std::array<Unit, 10> kPrintedByteUnits = {{
    {"PiB", std::int64_t{1} << 50},
    {"PB", 1'000'000'000'000'000},
    {"TiB", std::int64_t{1} << 40},
    {"TB", 1'000'000'000'000},
    {"GiB", std::int64_t{1} << 30},
    {"GB", 1'000'000'000},
    {"MiB", std::int64_t{1} << 20},
    {"MB", 1'000'000},
    {"KiB", 1024},
    {"KB", 1000},
}};

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

const Unit* find_unit(std::span<const Unit> units, std::string_view name) {
  const auto found =
      std::find_if(units.begin(), units.end(), [&](const Unit& unit) { return unit.name == name; });
  return found == units.end() ? nullptr : &*found;
}

// A decimal number without a sign: mantissa / scale.
struct Amount {
  std::int64_t mantissa = 0;
  std::int64_t scale = 1;
  bool has_fraction = false;
};

// Consumes "12" or "1.5" from the front of `text`; nothing when there is none or it is too long.
std::optional<Amount> take_amount(std::string_view& text) {
  Amount amount;
  std::size_t at = 0;
  int fraction_digits = 0;
  for (; at < text.size(); ++at) {
    if (text[at] == '.' && at > 0 && !amount.has_fraction) {
      amount.has_fraction = true;
      continue;
    }
    if (!is_digit(text[at])) break;
    if (amount.has_fraction && ++fraction_digits > kFractionDigitsMax) return std::nullopt;
    if (amount.mantissa > (kInt64Max - 9) / 10) return std::nullopt;
    amount.mantissa = amount.mantissa * 10 + (text[at] - '0');
    if (amount.has_fraction) amount.scale *= 10;
  }
  if (at == 0 || (amount.has_fraction && fraction_digits == 0)) return std::nullopt;
  text.remove_prefix(at);
  return amount;
}

std::string_view take_letters(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_letter);
  const std::string_view letters = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(letters.size());
  return letters;
}

Error not_a(std::string_view what, std::string_view text, std::string hint) {
  Error error(Errc::kInvalid, "'" + std::string(text) + "' is not " + std::string(what));
  error.with_value(std::string(text)).with_hint(std::move(hint));
  return error;
}

Error not_a_duration(std::string_view text) {
  return not_a("a length of time", text, "write 90s, 15m, 1h30m or 2d");
}

Error bare_duration(std::string_view text) {
  const std::string number(text);
  return not_a("a length of time: it has no unit", text,
               "write " + number + "s for seconds or " + number + "m for minutes");
}

Error too_long(std::string_view text) {
  return not_a("a length of time that fits", text, "write at most 100000000d");
}

Error not_bytes(std::string_view text) {
  return not_a("an amount of bytes", text, "write 24GB, 24GiB or 512MB");
}

// `value` with one decimal below 100 of the unit: "1.5", "24.0", "512".
std::string rounded(std::uint64_t tenths) {
  if (tenths >= 1000) return std::to_string((tenths + 5) / 10);
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10);
}

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? ~static_cast<std::uint64_t>(value) + 1 : static_cast<std::uint64_t>(value);
}

std::string two_digits(std::uint64_t value) {
  return (value < 10 ? "0" : "") + std::to_string(value);
}

// "1 h 04 min": the larger unit plain, the smaller with two digits.
std::string pair_of(std::uint64_t total, std::uint64_t per, const char* large, const char* small) {
  return std::to_string(total / per) + " " + large + " " + two_digits(total % per) + " " + small;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  constexpr std::int64_t kMillisMax = 100'000'000 * kDurationUnits[0].size;
  std::string_view rest = text;
  Wide total = 0;
  std::int64_t previous_size = kInt64Max;
  if (rest.empty()) return not_a_duration(text);
  while (!rest.empty()) {
    const std::optional<Amount> amount = take_amount(rest);
    if (!amount) return not_a_duration(text);
    const std::string_view name = take_letters(rest);
    if (name.empty() && rest.empty() && previous_size == kInt64Max) return bare_duration(text);
    const Unit* unit = find_unit(kDurationUnits, name);
    if (unit == nullptr || unit->size >= previous_size) return not_a_duration(text);
    const Wide scaled = Wide{amount->mantissa} * unit->size;
    if (scaled % amount->scale != 0) return not_a_duration(text);
    total += scaled / amount->scale;
    if (total > kMillisMax) return too_long(text);
    previous_size = unit->size;
  }
  return Duration::millis(static_cast<std::int64_t>(total));
}

std::string to_string(Duration duration) {
  constexpr std::uint64_t kPlainSecondsMax = 120'000;  // "90s" reads better than "1m30s".
  constexpr std::uint64_t kPlainMillisMax = 10'000;
  std::uint64_t rest = magnitude(duration.millis());
  std::string out = duration.millis() < 0 ? "-" : "";
  if (rest == 0) return "0s";
  if (rest % 1000 != 0 && rest < kPlainMillisMax) return out + std::to_string(rest) + "ms";
  const bool plain_seconds = rest < kPlainSecondsMax;
  for (const Unit& unit : kDurationUnits) {
    if (plain_seconds && unit.name == "m") continue;
    const auto size = static_cast<std::uint64_t>(unit.size);
    if (rest < size) continue;
    out += std::to_string(rest / size);
    out += unit.name;
    rest %= size;
  }
  CHECK(rest == 0, "a duration is a whole number of milliseconds");
  return out;
}

std::string human(Duration duration) {
  const std::uint64_t millis = magnitude(duration.millis());
  const std::string sign = duration.millis() < 0 ? "-" : "";
  if (millis < 1000) return sign + std::to_string(millis) + " ms";
  if (const std::uint64_t tenths = (millis + 50) / 100; tenths < 600) {
    return sign + rounded(tenths) + " s";
  }
  if (const std::uint64_t seconds = (millis + 500) / 1000; seconds < 3600) {
    return sign + pair_of(seconds, 60, "min", "s");
  }
  if (const std::uint64_t minutes = (millis + 30'000) / 60'000; minutes < 1440) {
    return sign + pair_of(minutes, 60, "h", "min");
  }
  return sign + pair_of((millis + 1'800'000) / 3'600'000, 24, "d", "h");
}

Result<Bytes> parse_bytes(std::string_view text) {
  std::string_view rest = text;
  const std::optional<Amount> amount = take_amount(rest);
  if (!amount) return not_bytes(text);
  if (rest.starts_with(' ')) rest.remove_prefix(1);
  const Unit* unit = find_unit(kByteUnits, to_lower(rest));
  if (unit == nullptr || text.ends_with(' ')) return not_bytes(text);
  const Wide bytes = Wide{amount->mantissa} * unit->size / amount->scale;
  if (bytes > kInt64Max)
    return not_a("an amount of bytes that fits", text, "write at most 8000PiB");
  return Bytes::count(static_cast<std::int64_t>(bytes));
}

std::string to_string(Bytes bytes) {
  for (const Unit& unit : kPrintedByteUnits) {
    if (bytes.is_zero() || bytes.count() % unit.size != 0) continue;
    return std::to_string(bytes.count() / unit.size).append(unit.name);
  }
  return std::to_string(bytes.count()) + "B";
}

std::string human(Bytes bytes) {
  constexpr std::array<const char*, 6> kNames = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  const std::uint64_t count = magnitude(bytes.count());
  const std::string sign = bytes.count() < 0 ? "-" : "";
  if (count < 1024) return sign + std::to_string(count) + " B";
  std::uint64_t tenths = 0;
  std::size_t index = 0;
  for (; index < kNames.size(); ++index) {
    const std::uint64_t unit = std::uint64_t{1} << (10 * (index + 1));
    tenths = static_cast<std::uint64_t>((Wide{count} * 10 + unit / 2) / unit);
    if (tenths < 10'235) break;  // 1023.5 rounds to 1024 of this unit, which is 1.0 of the next.
  }
  CHECK(index < kNames.size(), "an int64 of bytes is less than 1024 EiB");
  return sign + rounded(tenths) + " " + kNames[index];
}

// ---- times of day ----------------------------------------------------------------------------

namespace {

using std::chrono::sys_days;

constexpr std::int64_t kDayMillis = 86'400'000;

// Milliseconds of the first and last moment with a four-digit year.
constexpr std::int64_t kTimeMin = -62'167'219'200'000;
constexpr std::int64_t kTimeMax = 253'402'300'799'999;

Error not_a_time(std::string_view text) {
  return not_a("a time", text, "write 2026-11-21T14:05:28Z");
}

// Reads exactly `count` digits; nothing when one is missing.
std::optional<int> take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_digit(text[i])) return std::nullopt;
    value = value * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return value;
}

// Reads fields separated as in `pattern`, where each digit says how many digits a field has.
bool take_fields(std::string_view& text, std::string_view pattern, std::span<int> fields) {
  std::size_t next = 0;
  for (const char c : pattern) {
    if (is_digit(c)) {
      const std::optional<int> field = take_digits(text, static_cast<std::size_t>(c - '0'));
      if (!field) return false;
      CHECK(next < fields.size(), "the pattern has as many fields as the caller expects");
      fields[next++] = *field;
    } else {
      if (text.empty() || (text[0] != c && !(c == 'T' && text[0] == 't'))) return false;
      text.remove_prefix(1);
    }
  }
  return next == fields.size();
}

// ".123456" as milliseconds, later digits dropped; 0 when there is no fraction.
std::optional<int> take_fraction(std::string_view& text) {
  if (!text.starts_with('.')) return 0;
  text.remove_prefix(1);
  int millis = 0;
  int digits = 0;
  for (; !text.empty() && is_digit(text[0]); text.remove_prefix(1), ++digits) {
    if (digits < 3) millis = millis * 10 + (text[0] - '0');
  }
  if (digits == 0) return std::nullopt;
  for (; digits < 3; ++digits) millis *= 10;
  return millis;
}

// "Z" or "+01:30" in minutes.
std::optional<int> take_offset(std::string_view& text) {
  if (text == "Z" || text == "z") {
    text.remove_prefix(1);
    return 0;
  }
  if (!text.starts_with('+') && !text.starts_with('-')) return std::nullopt;
  const int sign = text[0] == '-' ? -1 : 1;
  text.remove_prefix(1);
  std::array<int, 2> fields{};
  if (!take_fields(text, "2:2", fields)) return std::nullopt;
  if (fields[0] > 23 || fields[1] > 59) return std::nullopt;
  return sign * (fields[0] * 60 + fields[1]);
}

}  // namespace

std::string dollars(Money amount) {
  CHECK(amount >= Money(), "an amount of money below nothing");
  constexpr std::size_t kDecimals = 6;
  std::string text = std::to_string(amount.micros());
  if (text.size() <= kDecimals) text.insert(0, kDecimals + 1 - text.size(), '0');
  return text.insert(text.size() - kDecimals, ".");
}

std::string rfc3339(Time time) {
  const std::int64_t millis = std::clamp(time.millis(), kTimeMin, kTimeMax);
  const std::int64_t days =
      (millis - ((millis % kDayMillis) + kDayMillis) % kDayMillis) / kDayMillis;
  const std::int64_t rest = millis - days * kDayMillis;
  const std::chrono::year_month_day date{sys_days{std::chrono::days{days}}};
  std::array<char, 64> buffer{};
  const int length =
      std::snprintf(buffer.data(), buffer.size(), "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ",
                    int{date.year()}, unsigned{date.month()}, unsigned{date.day()},
                    static_cast<int>(rest / 3'600'000), static_cast<int>(rest / 60'000 % 60),
                    static_cast<int>(rest / 1000 % 60), static_cast<int>(rest % 1000));
  CHECK(length == 24, "a time with a four-digit year has 24 characters");
  return {buffer.data(), static_cast<std::size_t>(length)};
}

Result<Time> parse_rfc3339(std::string_view text) {
  std::string_view rest = text;
  std::array<int, 6> field{};
  if (!take_fields(rest, "4-2-2T2:2:2", field)) return not_a_time(text);
  const std::optional<int> millis = take_fraction(rest);
  const std::optional<int> offset = take_offset(rest);
  const std::chrono::year_month_day date{std::chrono::year(field[0]),
                                         std::chrono::month(static_cast<unsigned>(field[1])),
                                         std::chrono::day(static_cast<unsigned>(field[2]))};
  if (!millis || !offset || !rest.empty() || !date.ok()) return not_a_time(text);
  if (field[3] > 23 || field[4] > 59 || field[5] > 59) return not_a_time(text);
  const std::int64_t days = sys_days{date}.time_since_epoch().count();
  const std::int64_t minutes = field[3] * 60 + field[4] - *offset;
  return Time::from_millis(days * kDayMillis + minutes * 60'000 + field[5] * 1000 + *millis);
}

}  // namespace runnel
