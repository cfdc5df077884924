#include "agent/gpu_reader.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include "env/subprocess.h"
#include "runner/process_tree.h"

namespace runnel::agent {
namespace {

using Words = std::vector<std::string_view>;

std::int64_t number_in(const Words& row, std::size_t column) {
  std::int64_t number = 0;
  if (column >= row.size()) return 0;
  const std::string_view text = row[column];
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  return problem == std::errc() && end == text.data() + text.size() && number > 0 ? number : 0;
}

// Where the columns stand; "# gpu pid type sm ...", in which "#" is a word of its own.
struct Columns {
  std::size_t pid = 0;
  std::size_t percent = 0;
  std::size_t memory = 0;
  bool found = false;

  void take_header(Words header) {
    header.erase(header.begin());
    const auto place = [&](std::string_view name) {
      return static_cast<std::size_t>(std::ranges::find(header, name) - header.begin());
    };
    const Columns columns{place("pid"), place("sm"), place("fb"), true};
    if (std::max({columns.pid, columns.percent, columns.memory}) < header.size()) *this = columns;
  }
};

}  // namespace

Result<GpuSample> parse_gpu_table(std::string_view text) {
  GpuSample sample;
  Columns columns;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const Words words = runner::words_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.empty()) continue;
    if (words[0] == "#") {
      if (!columns.found) columns.take_header(words);
      continue;
    }
    const auto pid = static_cast<pid_t>(number_in(words, columns.pid));
    if (!columns.found || pid == 0) continue;
    GpuUse& use = sample[pid];
    use.percent += number_in(words, columns.percent);
    use.memory = use.memory + Bytes::mebi(number_in(words, columns.memory));
  }
  if (!columns.found) return Error(Errc::kInvalid, "no table of the processes on GPUs");
  return sample;
}

std::optional<GpuSample> GpuSampler::sample(Duration now) {
  if (ask_again_ && now < *ask_again_) return last_;
  const Result<std::string> table = env::output_of(
      {.argv = {"nvidia-smi", "pmon", "-s", "um", "-c", "1"}, .runs_at_most = kAnswersWithin});
  const bool hangs = !table.ok() && table.error().code == Errc::kTimeout;
  ask_again_ = now + (hangs ? kAnswersWithin + kLeftAlone : kFresh);
  Result<GpuSample> sample = table.ok() ? parse_gpu_table(*table) : table.error();
  last_ = sample.ok() ? std::optional(*std::move(sample)) : std::nullopt;
  return last_;
}

}  // namespace runnel::agent
