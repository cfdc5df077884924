#include "volume/folder_reader.h"

#include <algorithm>

namespace runnel::volume {
namespace {

constexpr std::size_t kSkippedAtOnce = 4'096;

}  // namespace

Async<std::vector<Snapshot::Entry>> FolderReader::list(Inode folder, std::uint64_t number,
                                                       std::size_t max) {
  std::uint64_t at = 0;
  std::string after;
  const Place* const place = places_.last_until(
      {folder, number}, 1,
      [folder](const Place& each, const std::string&) { return each.first == folder; });
  if (place != nullptr) {
    at = place->second;
    after = *places_.peek(*place);
  }
  while (at < number) {
    const auto skipped =
        static_cast<std::size_t>(std::min<std::uint64_t>(number - at, kSkippedAtOnce));
    const auto entries = CO_TRY(co_await snapshot_.list(folder, after, skipped));
    if (entries.empty()) co_return std::vector<Snapshot::Entry>();
    at += entries.size();
    after = entries.back().name;
  }
  co_return co_await snapshot_.list(folder, std::move(after), max);
}

void FolderReader::remember(Inode folder, std::uint64_t number, std::string name_before) {
  places_.keep({folder, number}, std::move(name_before), 1);
}

}  // namespace runnel::volume
