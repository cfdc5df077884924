#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace runnel {

// A length of time in whole milliseconds.
class Duration {
 public:
  constexpr Duration() = default;
  static constexpr Duration millis(std::int64_t count) { return Duration(count); }
  static constexpr Duration seconds(std::int64_t count) { return Duration(count * 1000); }
  static constexpr Duration minutes(std::int64_t count) { return Duration(count * 60'000); }
  static constexpr Duration hours(std::int64_t count) { return Duration(count * 3'600'000); }

  constexpr std::int64_t millis() const { return millis_; }
  constexpr bool is_zero() const { return millis_ == 0; }

  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) {
    return Duration(a.millis_ + b.millis_);
  }
  friend constexpr Duration operator-(Duration a, Duration b) {
    return Duration(a.millis_ - b.millis_);
  }
  friend constexpr Duration operator*(Duration a, std::int64_t factor) {
    return Duration(a.millis_ * factor);
  }

 private:
  explicit constexpr Duration(std::int64_t count) : millis_(count) {}
  std::int64_t millis_ = 0;
};

// A measured length of time, in whole microseconds: far shorter than what a file asks for.
class Micros {
 public:
  constexpr Micros() = default;
  static constexpr Micros count(std::int64_t micros) { return Micros(micros); }
  static constexpr Micros of(Duration length) { return Micros(length.millis() * 1'000); }

  constexpr std::int64_t count() const { return micros_; }
  constexpr bool is_zero() const { return micros_ == 0; }
  // Rounded down.
  constexpr Duration in_millis() const { return Duration::millis(micros_ / 1'000); }

  friend constexpr auto operator<=>(Micros, Micros) = default;
  friend constexpr Micros operator+(Micros a, Micros b) { return Micros(a.micros_ + b.micros_); }
  friend constexpr Micros operator/(Micros a, std::int64_t parts) {
    return Micros(a.micros_ / parts);
  }

 private:
  explicit constexpr Micros(std::int64_t micros) : micros_(micros) {}
  std::int64_t micros_ = 0;
};

// A moment: milliseconds since 1970 in UTC. The `now` of an input never goes back.
class Time {
 public:
  constexpr Time() = default;
  static constexpr Time from_millis(std::int64_t count) { return Time(count); }
  constexpr std::int64_t millis() const { return millis_; }

  friend constexpr auto operator<=>(Time, Time) = default;
  friend constexpr Time operator+(Time a, Duration b) { return Time(a.millis_ + b.millis()); }
  friend constexpr Time operator-(Time a, Duration b) { return Time(a.millis_ - b.millis()); }
  friend constexpr Duration operator-(Time a, Time b) {
    return Duration::millis(a.millis_ - b.millis_);
  }

 private:
  explicit constexpr Time(std::int64_t count) : millis_(count) {}
  std::int64_t millis_ = 0;
};

// An amount of memory or storage.
class Bytes {
 public:
  constexpr Bytes() = default;
  static constexpr Bytes count(std::int64_t bytes) { return Bytes(bytes); }
  static constexpr Bytes kibi(std::int64_t units) { return Bytes(units << 10); }
  static constexpr Bytes mebi(std::int64_t units) { return Bytes(units << 20); }
  static constexpr Bytes gibi(std::int64_t units) { return Bytes(units << 30); }

  constexpr std::int64_t count() const { return bytes_; }
  constexpr bool is_zero() const { return bytes_ == 0; }

  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes(a.bytes_ + b.bytes_); }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes(a.bytes_ - b.bytes_); }
  friend constexpr Bytes operator*(Bytes a, std::int64_t factor) {
    return Bytes(a.bytes_ * factor);
  }

 private:
  explicit constexpr Bytes(std::int64_t bytes) : bytes_(bytes) {}
  std::int64_t bytes_ = 0;
};

// An amount of money in billionths of a dollar, so that a task of a millisecond is not free
// (docs/design/cost.md). People and files write prices in millionths.
class Money {
 public:
  constexpr Money() = default;
  static constexpr Money nanos(std::int64_t count) { return Money(count); }
  static constexpr Money micros(std::int64_t count) { return Money(count * kNanosPerMicro); }
  static constexpr Money dollars(std::int64_t count) { return micros(count * kMicrosPerDollar); }

  constexpr std::int64_t nanos() const { return nanos_; }
  constexpr std::int64_t micros() const { return nanos_ / kNanosPerMicro; }  // Rounded down.
  constexpr bool is_zero() const { return nanos_ == 0; }

  friend constexpr auto operator<=>(Money, Money) = default;
  friend constexpr Money operator+(Money a, Money b) { return Money(a.nanos_ + b.nanos_); }
  friend constexpr Money operator-(Money a, Money b) { return Money(a.nanos_ - b.nanos_); }

 private:
  static constexpr std::int64_t kNanosPerMicro = 1'000;
  static constexpr std::int64_t kMicrosPerDollar = 1'000'000;
  explicit constexpr Money(std::int64_t count) : nanos_(count) {}
  std::int64_t nanos_ = 0;
};

// "90s", "1h30m", "2d", "500ms". A bare number is an error, since seconds and minutes are both
// common. Errors carry value and hint, not field or place: the caller knows those.
Result<Duration> parse_duration(std::string_view text);
// "1h30m", "90s", "250ms", "0s": an exact form that parse_duration reads back; minutes from "2m"
// on.
std::string to_string(Duration duration);

// "24GB" (10^9), "24GiB" (2^30), "512M" = MB, "1.5GiB"; a bare number is GB. Units in any case; a
// fraction of a byte is dropped.
Result<Bytes> parse_bytes(std::string_view text);
// "24GiB", "1500MB", "17B": exact, in the largest unit that divides.
std::string to_string(Bytes bytes);
// "1.5 GiB": rounded, for people.
std::string human(Bytes bytes);
// "3.2 s", "1 h 04 min", "230 ms": rounded, for people.
std::string human(Duration duration);
// "1.250000": dollars with six decimals, rounded down. CHECKs that the amount is not negative.
std::string dollars(Money amount);
// "2026-11-21T14:05:28.123Z". Years 0 to 9999; a time outside is shown as the nearer end.
std::string rfc3339(Time time);
Result<Time> parse_rfc3339(std::string_view text);

}  // namespace runnel
