#include "library/version_reader.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace runnel::library {
namespace {

using volume::NodeKind;
using volume::Snapshot;

// An object that the index names is not there: for who reads that is damage.
template <typename T>
Result<T> as_damage(Result<T> result) {
  if (result.ok() || result.error().code != Errc::kNotFound) return result;
  Error error = std::move(result).error();
  error.code = Errc::kCorrupt;
  return error;
}

// Of a name that no put has made.
Error bad_name() { return Error(Errc::kCorrupt, "the index has a name that no file can have"); }

bool is_name(const std::string& name) {
  return !name.empty() && name.size() <= kNameBytesMax && name.find('\0') == std::string::npos;
}

}  // namespace

Async<PathEnd> VersionReader::find(std::string path, LastLink last) {
  co_return as_damage(co_await walk_path(snapshot_, std::move(path), last));
}

Async<VersionReader::FolderPart> VersionReader::list(std::string path, std::string after,
                                                     std::size_t max, Details details) {
  const PathEnd end = CO_TRY(co_await find(std::move(path), LastLink::kFollow));
  if (end.refusal) co_return FolderPart{end.refusal, {}};
  if (end.found.node.kind != NodeKind::kFolder) co_return FolderPart{Refusal::kNotAFolder, {}};
  co_return as_damage(co_await entries_of(end.found.inode, std::move(after), max, details));
}

Async<VersionReader::FolderPart> VersionReader::entries_of(volume::Inode folder, std::string after,
                                                           std::size_t max, Details details) {
  FolderPart part;
  std::vector<Snapshot::Entry> found =
      CO_TRY(co_await snapshot_.list(folder, std::move(after), std::min(max, kEntriesMax)));
  CHECK(found.size() <= kEntriesMax, "a part of a list is longer than parts are");
  part.entries.reserve(found.size());
  for (Snapshot::Entry& each : found) {
    if (!is_name(each.name)) co_return bad_name();
    Entry entry{std::move(each.name), each.what, {}};
    if (details == Details::kAll) {
      // One whose record is damaged has a name all the same; who asks for it gets the error.
      Result<volume::Node> node = co_await snapshot_.node(each.what.inode);
      if (node.ok()) entry.node = *std::move(node);
    }
    part.entries.push_back(std::move(entry));
  }
  co_return part;
}

Async<VersionReader::Pieces> VersionReader::read(volume::Inode file, std::uint64_t offset,
                                                 std::uint64_t length) {
  co_return as_damage(co_await files_.read(file, offset, std::min(length, kReadMax)));
}

Async<VersionReader::SmallFile> VersionReader::load(std::string path, std::uint64_t length_max) {
  SmallFile file{CO_TRY(co_await find(std::move(path), LastLink::kFollow)), {}};
  if (file.end.refusal) co_return file;
  const volume::Node& node = file.end.found.node;
  if (node.kind == NodeKind::kFolder) file.end.refusal = Refusal::kIsAFolder;
  if (!file.end.refusal && node.size <= std::min(length_max, kReadMax)) {
    file.pieces = CO_TRY(co_await read(file.end.found.inode, 0, node.size));
  }
  co_return file;
}

}  // namespace runnel::library
