#include "cli/transfer_line.h"

#include <algorithm>
#include <utility>

#include "cli/print.h"
#include "env/clock.h"

namespace runnel::cli {
namespace {

constexpr Duration kDrawAgainAfter = Duration::millis(200);
// What is told before that would be of the first batch alone.
constexpr Duration kRateAfter = Duration::millis(500);
// A store that does not answer is waited for; a disk or a slow link takes less.
constexpr Duration kStillAfter = Duration::seconds(3);
constexpr const char* kWipe = "\r\x1b[K";

}  // namespace

std::string transfer_text(const std::string& what, const TransferState& state, Duration running,
                          Duration still) {
  std::string text = what + "  " + std::to_string(state.files) +
                     (state.files == 1 ? " file  " : " files  ") + human(Bytes::count(state.bytes));
  const bool has_total = state.total && *state.total > 0;
  if (has_total) {
    // A source may have grown since it was measured.
    const std::int64_t percent = std::min<std::int64_t>(state.bytes * 100 / *state.total, 99);
    text += " of " + human(Bytes::count(*state.total)) + "  " + std::to_string(percent) + " %";
  }
  if (still >= kStillAfter) {
    return text + "  nothing for " + human(Duration::seconds(still.millis() / 1'000));
  }
  if (running < kRateAfter || state.bytes == 0) return text;
  const double per_milli = static_cast<double>(state.bytes) / static_cast<double>(running.millis());
  text += "  " + human(Bytes::count(static_cast<std::int64_t>(per_milli * 1'000))) + "/s";
  if (has_total && state.bytes < *state.total) {
    const auto left = static_cast<double>(*state.total - state.bytes) / per_milli;
    text += "  " + human(Duration::seconds(static_cast<std::int64_t>(left / 1'000) + 1)) + " left";
  }
  return text;
}

TransferLine::TransferLine(std::string what)
    : what_(std::move(what)),
      is_shown_(stderr_is_terminal()),
      begun_(env::real_clock().boot()),
      moved_(begun_) {}

void TransferLine::draw(const TransferState& state) {
  if (!is_shown_) return;
  const Duration now = env::real_clock().boot();
  if (state != state_) moved_ = now;
  state_ = state;
  if (drawn_ && now - *drawn_ < kDrawAgainAfter) return;
  drawn_ = now;
  put_error(kWipe + transfer_text(what_, state, now - begun_, now - moved_));
}

void TransferLine::draw_again() {
  if (drawn_) draw(state_);
}

void TransferLine::clear() {
  if (drawn_) put_error(kWipe);
  drawn_.reset();
}

}  // namespace runnel::cli
