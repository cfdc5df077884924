#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/metrics.h"

namespace runnel::output {

using model::MetricSample;

// The highest step: a training's counts stay far below it, and one more than it is a number still.
constexpr std::int64_t kStepMax = 1'000'000'000'000'000;

// A line of $RUNNEL_METRICS_FILE: a JSON object whose numbers are metrics. `step` says when and is
// `next_step` where it is missing, `from_rank` says whose it is and is 0 where it is missing; `ts`
// is the writer's own, texts other than nan and inf are passed over. Python's bare NaN and Infinity
// are understood. kInvalid saying what is wrong.
Result<MetricSample> parse_metric_line(std::string_view line, std::int64_t next_step);

// Follows one task's $RUNNEL_METRICS_FILE as it grows, over all attempts of the task.
//
// Contract: each whole line is read once. A line that is no sample, or longer than kLineBytesMax,
//           is counted and passed over, and so are, uncounted, those of ranks that are not asked
//           for: rank 0 speaks for the task. A file that is not there yet is empty. One that was
//           written anew, as `>` does, is read from its beginning.
// Threads:  one at a time.
class MetricsFile {
 public:
  static constexpr std::size_t kLineBytesMax = std::size_t{64} << 10;
  static constexpr std::size_t kReadBytesMax = std::size_t{256} << 10;  // In one call.
  static constexpr std::int64_t kLastBytesMax = std::int64_t{4} << 20;
  static constexpr std::size_t kNamesMax = 1'000;

  enum class Ranks : std::uint8_t { kFirst, kAll };
  explicit MetricsFile(std::string path, Ranks ranks = Ranks::kFirst)
      : path_(std::move(path)), ranks_(ranks) {}

  // A place in the file, and what lay before it: in a file that was written anew that is another.
  struct Mark {
    std::int64_t offset = 0;
    std::string tail;  // At most kTailBytesMax.
  };
  static constexpr std::int64_t kTailBytesMax = 64;
  // Its present end.
  static Mark end_of(const std::string& path);

  // Passes over what is there by now.
  void skip();
  // Lines before the mark only count steps, for those that say none. Before the first read.
  void begin_at(Mark mark) { begin_ = std::move(mark); }

  // Reads what was added since the last call, at most kReadBytesMax of it.
  std::vector<MetricSample> read();
  // The same to where the file ends now, in pieces of kReadBytesMax: their samples take many times
  // the memory of their text, and the file may be of any size.
  using Take = std::function<void(std::vector<MetricSample>)>;
  void read_whole_lines(const Take& take);
  // And its last line, whether it is ended or not.
  void read_to_end(const Take& take);
  // The same where at most `bytes_max` are unread; of more as many pieces of kReadBytesMax as make
  // them up, evenly spaced, the last of them at the end. Returns how many bytes it looked at.
  std::int64_t read_evenly_to_end(std::int64_t bytes_max, const Take& take);
  std::int64_t unread() const;
  // Passes over what is unread and lies more than kLastBytesMax before the end. Lines without a
  // step are counted on from the last one that was read.
  void skip_to_last();

  // The step of the last line, and the last value of every metric.
  MetricSample latest() const;
  bool empty() const { return latest_.empty(); }
  std::int64_t bad_lines() const { return bad_lines_; }
  // Whether the last read() left something for the next.
  bool behind() const { return behind_; }

 private:
  bool fill();
  void follow_rewrites(int file, const struct stat& info);
  void skip_to(std::int64_t offset);
  void take_lines(std::vector<MetricSample>& samples);
  // `at`: where the line begins.
  void take_line(std::string_view line, std::int64_t at, std::vector<MetricSample>& samples);

  std::string path_;
  Ranks ranks_;
  Mark begin_;
  std::int64_t offset_ = 0;
  std::string tail_;           // The last bytes that were read.
  std::int64_t modified_ = 0;  // Nanoseconds, when it was looked at last.
  std::string pending_;        // A line that is not whole yet.
  bool skipping_ = false;      // In a line that is too long.
  std::int64_t next_step_ = 0;
  std::int64_t step_ = 0;
  std::map<std::string, std::string> latest_;
  std::int64_t bad_lines_ = 0;
  bool behind_ = false;
};

// The path at which the attempts of a task keep it.
std::string metrics_path(const std::string& task_folder);

}  // namespace runnel::output
