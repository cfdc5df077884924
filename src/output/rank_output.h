#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/ids.h"
#include "base/units.h"
#include "model/refs.h"

namespace runnel::output {

// How much output the ranks of some attempts have written so far.
//
// Contract: look() reads on in the logs' indexes; size() asks the file system. Nothing is known of
//           a rank before the index says where its output is.
// Threads:  blocking; one at a time.
// Limits:   kIndexBytesMax of a job's index per look.
class RankOutputs {
 public:
  static constexpr std::int64_t kIndexBytesMax = std::int64_t{4} << 20;

  explicit RankOutputs(std::string home) : home_(std::move(home)) {}

  // Whether the attempt may have begun before others of its job were followed: then the index is
  // read from its beginning again.
  enum class Begun : std::uint8_t { kLater, kMaybe };
  void follow(const model::AttemptRef& attempt, Begun begun);
  void forget(const model::AttemptRef& attempt);
  void look();

  struct Size {
    std::int64_t bytes = 0;  // Both streams' files together.
    Time written_at;         // By the wall clock.
  };
  std::optional<Size> size(const model::AttemptRef& attempt, std::int32_t rank) const;

 private:
  using Slots = std::map<std::int32_t, std::uint32_t>;  // By rank.
  void read_on(const JobId& job, std::int64_t& offset);
  void take(const JobId& job, std::string_view bytes);

  std::string home_;
  std::map<model::AttemptRef, Slots> attempts_;
  std::map<JobId, std::int64_t> offsets_;  // In the job's index.
};

}  // namespace runnel::output
