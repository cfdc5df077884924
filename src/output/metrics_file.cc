#include "output/metrics_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>

#include "async/unique_fd.h"
#include "base/check.h"
#include "json/value.h"
#include "model/spec.h"
#include "output/open_file.h"

namespace runnel::output {
namespace {

constexpr std::array<std::string_view, 4> kOwnMembers = {"from_rank", "rank", "step", "ts"};

// Python's words for numbers that are none, and what they are called here.
struct Unusual {
  std::string_view written;
  std::string_view text;
};
constexpr std::array<Unusual, 3> kUnusual = {
    {{"NaN", "nan"}, {"-Infinity", "-inf"}, {"Infinity", "inf"}}};

// The line with bare NaN and Infinity in quotes, as JSON has no such numbers.
std::string quoted(std::string_view line) {
  std::string out;
  bool in_text = false;
  for (std::size_t at = 0; at < line.size();) {
    const std::string_view rest = line.substr(at);
    const auto unusual = std::find_if(kUnusual.begin(), kUnusual.end(), [&](const Unusual& each) {
      return !in_text && rest.starts_with(each.written);
    });
    if (unusual != kUnusual.end()) {
      out.append("\"").append(unusual->text).append("\"");
      at += unusual->written.size();
      continue;
    }
    if (line[at] == '"') in_text = !in_text;
    const std::size_t taken = in_text && line[at] == '\\' ? 2 : 1;
    out.append(rest.substr(0, taken));
    at += taken;
  }
  return out;
}

bool is_unusual(std::string_view text) {
  return std::any_of(kUnusual.begin(), kUnusual.end(),
                     [&](const Unusual& each) { return each.text == text; });
}

// The text of a metric's value; empty when it is none.
std::string text_of(const json::Value& value) {
  if (value.is_int()) return std::to_string(value.as_int());
  if (value.kind() == json::Value::Kind::kDecimal) return value.as_text();
  return value.is_text() && is_unusual(value.as_text()) ? value.as_text() : "";
}

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

std::int64_t modified_of(const struct stat& info) {
  return info.st_mtim.tv_sec * kNanosPerSecond + info.st_mtim.tv_nsec;
}

std::string bytes_before(int file, std::int64_t offset, std::size_t count) {
  std::string bytes(count, '\0');
  const auto begin = offset - static_cast<std::int64_t>(count);
  const ssize_t got = begin < 0 ? -1 : ::pread(file, bytes.data(), count, begin);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

bool holds(int file, const MetricsFile::Mark& mark) {
  return bytes_before(file, mark.offset, mark.tail.size()) == mark.tail;
}

}  // namespace

Result<MetricSample> parse_metric_line(std::string_view line, std::int64_t next_step) {
  Result<json::Value> json = json::parse(line);
  if (!json.ok()) json = json::parse(quoted(line));
  const json::Value object = TRY(std::move(json));
  if (!object.is_object()) return Error(Errc::kInvalid, "a line of metrics is a JSON object");
  MetricSample sample;
  sample.step = next_step;
  if (const json::Value* rank = object.find("from_rank"); rank != nullptr && rank->is_int()) {
    const std::int64_t number = rank->as_int();
    if (number > 0 && number < model::kRanksPerTaskMax) {
      sample.rank = static_cast<std::int32_t>(number);
    }
  }
  if (const json::Value* step = object.find("step"); step != nullptr) {
    if (!step->is_int() || step->as_int() < 0 || step->as_int() > kStepMax) {
      return Error(Errc::kInvalid, "`step` is a whole number from 0 to " + std::to_string(kStepMax))
          .with_field("step");
    }
    sample.step = step->as_int();
  }
  for (const auto& [name, value] : object.as_object()) {
    const bool own = std::find(kOwnMembers.begin(), kOwnMembers.end(), name) != kOwnMembers.end();
    std::string text = own ? "" : text_of(value);
    if (!text.empty()) sample.values.emplace_back(name, std::move(text));
  }
  if (sample.values.empty()) return Error(Errc::kInvalid, "the line holds no number");
  return sample;
}

MetricsFile::Mark MetricsFile::end_of(const std::string& path) {
  const async::UniqueFd file = open_to_read(path);
  struct stat info = {};
  if (!file.valid() || ::fstat(file.get(), &info) != 0) return {};
  const auto count = static_cast<std::size_t>(std::min<std::int64_t>(info.st_size, kTailBytesMax));
  return {info.st_size, bytes_before(file.get(), info.st_size, count)};
}

// A program may write its file from the beginning again, another attempt's or its own.
void MetricsFile::follow_rewrites(int file, const struct stat& info) {
  if (offset_ == 0 && (info.st_size < begin_.offset || !holds(file, begin_))) begin_ = {};
  if (info.st_size >= offset_ && holds(file, {offset_, tail_})) return;
  begin_ = {};
  offset_ = 0;
  pending_.clear();
  tail_.clear();
  skipping_ = false;
}

// Whether there was anything. Most looks find nothing new, and cost no more than asking for the
// size and the time of the last change.
bool MetricsFile::fill() {
  const async::UniqueFd file = open_to_read(path_);
  struct stat info = {};
  behind_ = false;
  if (!file.valid() || ::fstat(file.get(), &info) != 0) return false;
  const std::int64_t modified = modified_of(info);
  if (info.st_size == offset_ && modified == modified_) return false;
  modified_ = modified;
  follow_rewrites(file.get(), info);
  if (info.st_size <= offset_) return false;
  const std::size_t added =
      std::min(static_cast<std::size_t>(info.st_size - offset_), kReadBytesMax);
  const std::size_t had = pending_.size();
  pending_.resize(had + added);
  const ssize_t got = ::pread(file.get(), pending_.data() + had, added, offset_);
  pending_.resize(had + static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  offset_ += std::max<ssize_t>(got, 0);
  tail_.append(pending_, had);
  const std::size_t over = std::max<std::size_t>(tail_.size(), kTailBytesMax) - kTailBytesMax;
  tail_.erase(0, over);
  behind_ = offset_ < info.st_size;
  return got > 0;
}

void MetricsFile::skip() {
  struct stat info = {};
  if (::stat(path_.c_str(), &info) == 0) offset_ = info.st_size;
}

std::vector<MetricSample> MetricsFile::read() {
  std::vector<MetricSample> samples;
  if (fill()) take_lines(samples);
  return samples;
}

void MetricsFile::skip_to_last() {
  const std::int64_t over = unread() - kLastBytesMax;
  if (over > 0) skip_to(offset_ + over);
}

void MetricsFile::skip_to(std::int64_t offset) {
  CHECK(offset >= offset_, "a file is read forwards");
  if (offset == offset_) return;
  offset_ = offset;
  tail_.clear();
  pending_.clear();
  skipping_ = true;  // A line has begun where it lands.
}

std::int64_t MetricsFile::unread() const {
  struct stat info = {};
  if (::stat(path_.c_str(), &info) != 0) return 0;
  return std::max<std::int64_t>(info.st_size - offset_, 0);
}

std::int64_t MetricsFile::read_evenly_to_end(std::int64_t bytes_max, const Take& take) {
  constexpr auto kPiece = static_cast<std::int64_t>(kReadBytesMax);
  CHECK(bytes_max >= kPiece, "less than a piece is read of a file");
  const std::int64_t size = unread();
  if (size <= bytes_max) {
    read_to_end(take);
    return size;
  }
  const std::int64_t from = offset_;
  const std::int64_t gaps = bytes_max / kPiece - 1;
  for (std::int64_t i = 0; i < gaps; ++i) {
    skip_to(std::max(offset_, from + (size - kPiece) / gaps * i));
    take(read());
  }
  skip_to(from + size - kPiece);
  read_to_end(take);
  return (gaps + 1) * kPiece;
}

void MetricsFile::read_whole_lines(const Take& take) {
  struct stat info = {};
  if (::stat(path_.c_str(), &info) != 0) return;
  while (fill()) {
    std::vector<MetricSample> samples;
    take_lines(samples);
    take(std::move(samples));
    if (offset_ >= info.st_size) return;  // The next look takes what comes now.
  }
}

void MetricsFile::read_to_end(const Take& take) {
  read_whole_lines(take);
  std::vector<MetricSample> last;
  const auto pending = static_cast<std::int64_t>(pending_.size());
  if (!pending_.empty() && !skipping_) take_line(pending_, offset_ - pending, last);
  pending_.clear();
  take(std::move(last));
}

void MetricsFile::take_lines(std::vector<MetricSample>& samples) {
  const std::int64_t at = offset_ - static_cast<std::int64_t>(pending_.size());
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = pending_.find('\n', begin);
    if (end == std::string::npos) break;
    const std::string_view line = std::string_view(pending_).substr(begin, end - begin);
    if (!skipping_) take_line(line, at + static_cast<std::int64_t>(begin), samples);
    skipping_ = false;
    begin = end + 1;
  }
  pending_.erase(0, begin);
  if (pending_.size() <= kLineBytesMax) return;
  if (!skipping_) ++bad_lines_;
  skipping_ = true;
  pending_.clear();
}

void MetricsFile::take_line(std::string_view line, std::int64_t at,
                            std::vector<MetricSample>& samples) {
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  Result<MetricSample> sample = line.size() > kLineBytesMax
                                    ? Result<MetricSample>(Error(Errc::kFull, "too long"))
                                    : parse_metric_line(line, next_step_);
  if (!sample.ok()) {
    ++bad_lines_;
    return;
  }
  if (sample->rank != 0) {
    if (ranks_ == Ranks::kAll) samples.push_back(std::move(*sample));
    return;
  }
  next_step_ = sample->step + 1;
  if (at < begin_.offset) return;
  step_ = sample->step;
  for (const auto& [name, value] : sample->values) {
    if (latest_.size() < kNamesMax || latest_.contains(name)) latest_[name] = value;
  }
  samples.push_back(std::move(*sample));
}

MetricSample MetricsFile::latest() const { return {step_, {latest_.begin(), latest_.end()}}; }

std::string metrics_path(const std::string& task_folder) { return task_folder + "/metrics.jsonl"; }

}  // namespace runnel::output
