#include "volume/folder_bench.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "async/unique_fd.h"
#include "base/split_mix.h"
#include "env/files.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kStep = 1 << 20;

struct BenchFile {
  std::string path;
  std::int64_t size = 0;
};

struct RandomPlace {
  std::size_t file = 0;
  std::int64_t offset = 0;
};

// Ends a row that takes too long.
class RowTimer {
 public:
  RowTimer(env::Clock& clock, Duration limit) : clock_(clock), limit_(limit) {}

  Duration time() const { return clock_.boot() - begin_; }
  bool is_over() const { return time() >= limit_; }

 private:
  env::Clock& clock_;
  const Duration limit_;
  const Duration begin_ = clock_.boot();
};

Result<async::UniqueFd> open_file(const BenchFile& file) {
  async::UniqueFd opened(::open(file.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened.valid()) return errno_error("open " + file.path, errno);
  return opened;
}

// How many bytes there were.
Result<std::int64_t> read_at(const async::UniqueFd& opened, const BenchFile& file,
                             std::span<char> into, std::int64_t offset) {
  const ssize_t size = ::pread(opened.get(), into.data(), into.size(), offset);
  if (size < 0) return errno_error("read " + file.path, errno);
  return size;
}

Result<std::int64_t> read_whole(const BenchFile& file, std::span<char> buffer) {
  const async::UniqueFd opened = TRY(open_file(file));
  std::int64_t bytes = 0;
  while (bytes < file.size) {
    const std::int64_t size = TRY(read_at(opened, file, buffer, bytes));
    if (size == 0) break;
    bytes += size;
  }
  return bytes;
}

class FolderBench {
 public:
  FolderBench(env::Clock& clock, std::string folder, const BenchLimits& limits)
      : clock_(clock), folder_(std::move(folder)), limits_(limits), buffer_(kStep, '\0') {}

  Result<std::vector<BenchRow>> run() {
    TRY(list());
    TRY(read_small());
    TRY(read_long());
    TRY(read_random());
    return std::move(rows_);
  }

 private:
  Result<void> list() {
    BenchRow row{.name = "list", .what = "names and sizes"};
    const RowTimer first(clock_, limits_.row);
    std::vector<BenchFile> files = TRY(list_once(&first, row.count));
    row.first = first.time();
    for (BenchFile& file : files) {
      auto& kind = file.size <= BenchLimits::kSmallMax ? small_ : long_;
      if (file.size > 0) kind.push_back(std::move(file));
    }
    const RowTimer again(clock_, limits_.row);
    std::int64_t count = 0;
    most_ = row.count;
    TRY(list_once(nullptr, count));
    row.again = again.time();
    rows_.push_back(std::move(row));
    return {};
  }

  // As many entries as the first time, when there is no timer.
  Result<std::vector<BenchFile>> list_once(const RowTimer* timer, std::int64_t& count) const {
    const std::int64_t most = timer != nullptr ? limits_.entries : most_;
    std::vector<BenchFile> files;
    std::vector<std::string> folders{folder_};
    while (!folders.empty()) {
      const std::string folder = std::move(folders.back());
      folders.pop_back();
      Result<std::vector<std::string>> names = env::list_directory(folder);
      if (!names.ok() && folder == folder_) return names.error();
      if (!names.ok()) continue;  // Another user's, or removed meanwhile.
      std::sort(names->begin(), names->end());
      for (const std::string& name : *names) {
        if (count == most || (timer != nullptr && timer->is_over())) return files;
        ++count;
        std::string path = folder + "/" + name;
        const Result<env::FileInfo> info = env::file_info(path);
        if (!info.ok()) continue;
        if (info->kind == env::FileKind::kDirectory) {
          folders.push_back(std::move(path));
        } else if (info->kind == env::FileKind::kFile) {
          files.push_back({std::move(path), info->size.count()});
        }
      }
    }
    return files;
  }

  Result<void> read_small() {
    return row({.name = "small", .what = "small files, whole"}, small_.size(),
               [this](std::size_t index) { return read_whole(small_[index], buffer_); });
  }

  Result<void> read_long() {
    std::size_t files = 0;
    for (std::int64_t bytes = 0; files < long_.size() && bytes < limits_.bytes; ++files) {
      bytes += long_[files].size;
    }
    return row({.name = "long", .what = "long files, in sequence"}, files,
               [this](std::size_t index) { return read_whole(long_[index], buffer_); });
  }

  Result<void> read_random() {
    constexpr std::int64_t kBytes = BenchLimits::kRandomBytes;
    std::vector<RandomPlace> places;
    SplitMix64 dice(1);
    while (!long_.empty() && std::ssize(places) < limits_.random_reads) {
      const std::size_t file = dice.next() % long_.size();
      const auto blocks = static_cast<std::uint64_t>(long_[file].size / kBytes);
      places.push_back({file, static_cast<std::int64_t>(dice.next() % blocks) * kBytes});
    }
    const std::span<char> block = std::span(buffer_).first(kBytes);
    return row({.name = "random", .what = "4 KiB at random places"}, places.size(),
               [&](std::size_t index) -> Result<std::int64_t> {
                 const BenchFile& file = long_[places[index].file];
                 return read_at(TRY(open_file(file)), file, block, places[index].offset);
               });
  }

  // The second time what was read the first time.
  Result<void> row(BenchRow row, std::size_t most,
                   const std::function<Result<std::int64_t>(std::size_t)>& read) {
    std::vector<std::size_t> done;
    std::optional<Error> failed;
    const RowTimer first(clock_, limits_.row);
    for (std::size_t index = 0; index < most && !(index > 0 && first.is_over()); ++index) {
      const Result<std::int64_t> bytes = read(index);
      if (bytes.ok()) {
        row.bytes += *bytes;
        done.push_back(index);
      } else {
        failed = bytes.error();
        ++row.passed_over;
      }
    }
    row.first = first.time();
    if (done.empty() && failed) return *failed;
    if (done.empty()) return {};
    const RowTimer again(clock_, limits_.row);
    for (const std::size_t index : done) {
      if (!read(index).ok()) ++row.passed_over;
    }
    row.again = again.time();
    row.count = std::ssize(done);
    rows_.push_back(std::move(row));
    return {};
  }

  env::Clock& clock_;
  const std::string folder_;
  const BenchLimits limits_;
  std::string buffer_;
  std::int64_t most_ = 0;  // Entries that the first list has reached.
  std::vector<BenchFile> small_;
  std::vector<BenchFile> long_;
  std::vector<BenchRow> rows_;
};

}  // namespace

Result<std::vector<BenchRow>> bench_folder(env::Clock& clock, const std::string& folder,
                                           const BenchLimits& limits) {
  return FolderBench(clock, folder, limits).run();
}

}  // namespace runnel::volume
