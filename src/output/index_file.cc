#include "output/index_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "output/open_file.h"

namespace runnel::output {
namespace {

constexpr auto kRecord = static_cast<std::int64_t>(kIndexRecordBytes);

}  // namespace

IndexFile::IndexFile(const std::string& logs) : file_(open_to_read(index_path(logs))) {
  if (!file_.valid()) {
    failure_ = errno;
    return;
  }
  look_again();
}

bool IndexFile::look_again() {
  CHECK(file_.valid(), "an index is looked at that there is none of");
  struct stat status{};
  if (::fstat(file_.get(), &status) != 0) {
    failure_ = errno;
    return false;
  }
  const std::int64_t before = std::exchange(records_, status.st_size / kRecord);
  torn_ = status.st_size % kRecord != 0;
  return records_ > before;
}

std::optional<IndexRecord> IndexFile::at(std::int64_t number) {
  if (number < first_ || number >= first_ + count_) load(number);
  if (number < first_ || number >= first_ + count_) return std::nullopt;
  const auto offset = static_cast<std::size_t>(number - first_) * kIndexRecordBytes;
  return parse_record(std::string_view(block_).substr(offset));
}

void IndexFile::load(std::int64_t number) {
  CHECK(number >= 0, "an index has no record below zero");
  const std::int64_t wanted = std::clamp<std::int64_t>(records_ - number, 1, kBlock);
  block_.resize(static_cast<std::size_t>(wanted * kRecord));
  const ssize_t got = ::pread(file_.get(), block_.data(), block_.size(), number * kRecord);
  first_ = number;
  count_ = got > 0 ? got / kRecord : 0;
}

}  // namespace runnel::output
