#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/units.h"
#include "env/clock.h"

namespace runnel::fuse {

// Why requests of a mount were answered with an error, in words: a reader has a number from the
// kernel and no more.
//
// Contract: the same sentence is said at most once in kQuiet. At most kSentencesMax are known at a
//           time; others are counted, and the next one that is said tells how many they were.
// Threads:  the loop's only.
// Lifetime: the clock outlives it.
// Why:      one damaged pack, or a store that is away, is the cause of thousands of errors.
class ErrorNotices {
 public:
  static constexpr Duration kQuiet = Duration::seconds(60);
  static constexpr std::size_t kSentencesMax = 64;

  // `is_damage`: whoever reads the same again gets the same, until the volume is repaired.
  using Say = std::function<void(const std::string& sentence, bool is_damage)>;
  // Of a mount of a volume. `say` may be empty: then nothing is said.
  ErrorNotices(const env::Clock& clock, std::string volume, Say say)
      : clock_(clock), volume_(std::move(volume)), say_(std::move(say)) {}

  void tell(const Error& error);

 private:
  static bool is_damage(const Error& error);
  std::string sentence_of(Error error) const;
  bool remember(const std::string& sentence);
  std::string unsaid_text();

  const env::Clock& clock_;
  const std::string volume_;
  const Say say_;
  std::map<std::string, Duration> said_;  // When.
  std::int64_t unsaid_ = 0;               // For want of room.
};

}  // namespace runnel::fuse
