#include "output/event_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "async/unique_fd.h"
#include "base/check.h"
#include "env/files.h"
#include "output/open_file.h"

namespace runnel::output {
namespace {

constexpr std::string_view kEventFile = "tfevents";

}  // namespace

std::size_t EventFolder::read(std::vector<model::MetricSample>& samples) {
  std::size_t entries = 0;
  find("", 0, entries);
  std::size_t bytes = 0;
  for (auto& [name, file] : files_) bytes += read_file(name, file, samples);
  return bytes;
}

EventFolder::Sizes EventFolder::sizes() {
  std::size_t entries = 0;
  find("", 0, entries);
  Sizes sizes;
  for (const auto& [name, file] : files_) {
    const Result<env::FileInfo> info = env::file_info(path_ + "/" + name);
    if (info.ok()) sizes[name] = info->size.count();
  }
  return sizes;
}

std::int64_t EventFolder::bad_records() const {
  std::int64_t bad = 0;
  for (const auto& [name, file] : files_) bad += file.reader.bad_records();
  return bad;
}

// `folder` is "" or "train/".
void EventFolder::find(const std::string& folder, int depth, std::size_t& entries) {
  const Result<std::vector<std::string>> names = env::list_directory(path_ + "/" + folder);
  if (!names.ok()) return;
  for (const std::string& name : *names) {
    if (++entries > kEntriesMax) return;
    const Result<env::FileInfo> info = env::file_info(path_ + "/" + folder + name);
    if (!info.ok()) continue;
    if (info->kind == env::FileKind::kDirectory && depth < kDepthMax) {
      find(folder + name + "/", depth + 1, entries);
    }
    if (info->kind != env::FileKind::kFile || name.find(kEventFile) == std::string::npos) continue;
    if (files_.size() >= kFilesMax) continue;
    const auto [file, added] = files_.try_emplace(folder + name, folder);
    const auto begin = begin_.find(folder + name);
    if (added && begin != begin_.end()) file->second.offset = begin->second;
  }
}

std::size_t EventFolder::read_file(const std::string& name, File& file,
                                   std::vector<model::MetricSample>& samples) {
  const async::UniqueFd descriptor = open_to_read(path_ + "/" + name);
  struct stat info = {};
  if (!descriptor.valid() || ::fstat(descriptor.get(), &info) != 0) return 0;
  if (info.st_size <= file.offset) return 0;
  CHECK(file.offset >= 0, "a file is read before its beginning");
  std::string bytes(std::min(static_cast<std::size_t>(info.st_size - file.offset), kReadBytesMax),
                    '\0');
  const ssize_t got = ::pread(descriptor.get(), bytes.data(), bytes.size(), file.offset);
  if (got <= 0) return 0;
  file.reader.add(std::string_view(bytes).substr(0, static_cast<std::size_t>(got)), samples);
  file.offset += got + file.reader.take_skip();
  return static_cast<std::size_t>(got);
}

}  // namespace runnel::output
