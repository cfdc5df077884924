#include "control/job_id.h"

#include <algorithm>

#include "base/check.h"
#include "hash/xxh3.h"

namespace runnel::control {
namespace {

constexpr std::string_view kDigits = "0123456789abcdefghjkmnpqrstvwxyz";
constexpr std::size_t kTimeDigits = 9;  // 45 bits of milliseconds: until the year 3084.

void append_digits(std::string& text, std::uint64_t value, std::size_t count) {
  for (std::size_t digit = count; digit > 0; --digit) {
    text += kDigits[(value >> (5 * (digit - 1))) & 31U];
  }
}

}  // namespace

JobId JobIdMaker::next(Time now) {
  last_ = std::max(now, last_ + Duration::millis(1));
  CHECK(last_.millis() > 0, "a job id needs a time after 1970");
  const auto millis = static_cast<std::uint64_t>(last_.millis());
  std::string text;
  append_digits(text, millis, kTimeDigits);
  append_digits(text, hash::xxh3(text, salt_), kJobIdDigits - kTimeDigits);
  return JobId(text);
}

Time time_of(const JobId& id) {
  const std::string text = id.str();
  if (text.size() != kJobIdDigits || !is_job_id_prefix(text)) return Time();
  std::int64_t millis = 0;
  for (const char letter : std::string_view(text).substr(0, kTimeDigits)) {
    millis = millis * 32 + static_cast<std::int64_t>(kDigits.find(letter));
  }
  return Time::from_millis(millis);
}

Error no_such_job(const std::string& text) {
  return Error(Errc::kNotFound, "there is no job '" + text + "'")
      .with_field("id")
      .with_value(text)
      .with_hint("list them: runnel ps -a");
}

bool is_job_id_prefix(std::string_view text) {
  if (text.empty() || text.size() > kJobIdDigits) return false;
  return std::all_of(text.begin(), text.end(),
                     [](char letter) { return kDigits.find(letter) != std::string_view::npos; });
}

}  // namespace runnel::control
