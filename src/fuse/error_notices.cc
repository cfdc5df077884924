#include "fuse/error_notices.h"

#include <utility>

#include "base/check.h"

namespace runnel::fuse {

void ErrorNotices::tell(const Error& error) {
  if (!say_) return;
  const std::string sentence = sentence_of(error);
  if (!remember(sentence)) return;
  say_(sentence + unsaid_text(), is_damage(error));
}

// What a version needs and its store has not is as damaged as what has changed.
bool ErrorNotices::is_damage(const Error& error) {
  return error.code == Errc::kCorrupt || error.code == Errc::kNotFound;
}

// Whoever reads a chunk knows no volume's name.
std::string ErrorNotices::sentence_of(Error error) const {
  if (is_damage(error)) {
    error.with_hint("see all that is damaged: runnel volume fsck " + volume_);
  }
  return error.to_string();
}

// False: it was said a moment ago, or there is no room for it.
bool ErrorNotices::remember(const std::string& sentence) {
  const Duration now = clock_.boot();
  std::erase_if(said_, [now](const auto& said) { return now - said.second >= kQuiet; });
  if (said_.contains(sentence)) return false;
  CHECK(said_.size() <= kSentencesMax, "more causes are remembered than there is room for");
  if (said_.size() == kSentencesMax) {
    ++unsaid_;
    return false;
  }
  said_.emplace(sentence, now);
  return true;
}

std::string ErrorNotices::unsaid_text() {
  const std::int64_t unsaid = std::exchange(unsaid_, 0);
  if (unsaid == 0) return "";
  return " (and " + std::to_string(unsaid) + " others that were not told)";
}

}  // namespace runnel::fuse
