// Arbitrary bytes as what a task writes into $RUNNEL_METRICS_FILE. A line that is a sample is the
// same sample when it is written again; a file that grows piece by piece, looked at in between,
// holds the same samples as one that was there at once.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "json/value.h"
#include "output/metrics_file.h"

namespace {

using namespace runnel;
using namespace runnel::output;

using Plain = std::pair<std::int64_t, std::vector<std::pair<std::string, std::string>>>;

Plain plain(const MetricSample& sample) {
  return {sample.step, {sample.values.begin(), sample.values.end()}};
}

void check_line(std::string_view line) {
  constexpr std::int64_t kNext = 7;
  const Result<MetricSample> sample = parse_metric_line(line, kNext);
  if (!sample.ok()) {
    CHECK(sample.error().code == Errc::kInvalid, "a line fails with another code");
    return;
  }
  json::Value again = json::Value::object();
  for (const auto& [name, value] : sample->values) {
    again.set(name,
              json::is_number(value) ? json::Value::decimal(value) : json::Value::text(value));
  }
  again.set("step", json::Value::integer(sample->step));
  const Result<MetricSample> read = parse_metric_line(again.dump(), kNext);
  CHECK(read.ok(), "a sample does not read back");
  CHECK(plain(*read) == plain(*sample), "a sample reads back as another");
}

// A file in memory, by its path.
class MemoryFile {
 public:
  MemoryFile() : file_(::memfd_create("metrics", 0)) { CHECK(file_ >= 0, "no memory for a file"); }
  ~MemoryFile() { ::close(file_); }
  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }
  void add(std::string_view bytes) {
    const ssize_t written = ::write(file_, bytes.data(), bytes.size());
    CHECK(written == static_cast<ssize_t>(bytes.size()), "a file in memory takes what it is given");
  }

 private:
  int file_;
};

std::vector<Plain> read_in_pieces(std::string_view bytes, std::size_t piece) {
  MemoryFile memory;
  MetricsFile file(memory.path());
  std::vector<Plain> samples;
  const auto take = [&samples](const std::vector<MetricSample>& read) {
    for (const MetricSample& sample : read) samples.push_back(plain(sample));
  };
  while (!bytes.empty()) {
    memory.add(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    take(file.read());
  }
  file.read_to_end(take);
  return samples;
}

void check_file(std::string_view bytes, std::size_t piece) {
  CHECK(read_in_pieces(bytes, piece) == read_in_pieces(bytes, bytes.size()),
        "how a file grows changes what it says");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 2), size - 2);
  if (data[0] % 2 == 0) {
    check_line(bytes);
  } else {
    check_file(bytes, 1 + data[1]);
  }
  return 0;
}
