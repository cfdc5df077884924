#include "volume/snapshot.h"

#include <algorithm>

namespace runnel::volume {
namespace {

constexpr std::size_t kNameBytesMax = 255;

Error no_path(const std::string& path) {
  return Error(Errc::kNotFound, "there is no '" + path + "' in this version").with_value(path);
}

Error bad_path(std::string_view path, const std::string& why) {
  return Error(Errc::kInvalid, "a path in a volume " + why).with_value(std::string(path));
}

// A volume may be somebody else's: such a name may lead out of where its files are put.
Error bad_name(const std::string& name) {
  return Error(Errc::kCorrupt, "the index has the name '" + name + "', which no file can have");
}

Error no_record() {
  return Error(Errc::kCorrupt, "the index has a name without its file; see what fsck says");
}

}  // namespace

Result<std::vector<std::string>> path_parts(std::string_view path) {
  std::vector<std::string> parts;
  while (path.starts_with('/')) path.remove_prefix(1);
  if (path.empty()) return parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() && end == path.size()) break;  // A slash at the end.
    if (const auto fault = fault_of_name(part)) return bad_path(path, *fault);
    parts.emplace_back(part);
  }
  return parts;
}

std::optional<std::string> fault_of_name(std::string_view name) {
  if (name.empty() || name == "." || name == "..")
    return "has the part '" + std::string(name) + "'";
  if (name.size() > kNameBytesMax) return "has a name of over 255 bytes";
  if (name.find('\0') != std::string_view::npos) return "has a NUL";
  if (name.find('/') != std::string_view::npos) return "has a name with a slash";
  return std::nullopt;
}

std::string path_text(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : "/") + part;
  return text;
}

std::vector<std::string> parent_path(std::vector<std::string> parts) {
  if (!parts.empty()) parts.pop_back();
  return parts;
}

Result<void> WalkedFolders::enter(Inode folder) {
  if (met_.insert(folder).second) return {};
  return Error(Errc::kCorrupt, "the index has folder " + std::to_string(folder) +
                                   " under two names, of which one may be in itself");
}

Async<Node> Snapshot::node(Inode inode) {
  const std::optional<std::string> bytes =
      CO_TRY(co_await find(pages_, manifest_.inodes, inode_key(inode), Locality::kNeighbours));
  if (!bytes) co_return no_record();
  co_return decode_node(*bytes);
}

Async<std::optional<Name>> Snapshot::look_up(Inode folder, std::string name) {
  const std::optional<std::string> bytes =
      CO_TRY(co_await find(pages_, manifest_.names, name_key(folder, name), Locality::kNeighbours));
  if (!bytes) co_return std::optional<Name>();
  co_return std::optional(CO_TRY(decode_name(*bytes)));
}

Async<Snapshot::Found> Snapshot::at(std::string path) {
  Name what{kRootInode, NodeKind::kFolder};
  for (const std::string& part : CO_TRY(path_parts(path))) {
    if (what.kind != NodeKind::kFolder) co_return no_path(path);
    const std::optional<Name> next = CO_TRY(co_await look_up(what.inode, part));
    if (!next) co_return no_path(path);
    what = *next;
  }
  if (!manifest_.inodes.has_value()) {
    co_return Error(Errc::kNotFound, "the volume has no version yet")
        .with_hint("make one: runnel volume put");
  }
  Node node = CO_TRY(co_await this->node(what.inode));
  if (node.kind != what.kind) co_return no_record();
  co_return Found{what.inode, std::move(node)};
}

Async<std::vector<Snapshot::Entry>> Snapshot::list(Inode folder, std::string after,
                                                   std::size_t max) {
  // The least key behind a name is the name with a zero byte.
  std::string from = name_key(folder, after);
  if (!after.empty()) from += '\0';
  const std::vector<TreeEntry> found = CO_TRY(
      co_await scan(pages_, manifest_.names, std::move(from), name_key(folder + 1, ""), max));
  std::vector<Entry> entries;
  entries.reserve(found.size());
  for (const auto& [key, value] : found) {
    std::string name = key.substr(sizeof(Inode));
    if (fault_of_name(name)) co_return bad_name(name);
    entries.push_back({std::move(name), CO_TRY(decode_name(value))});
  }
  co_return entries;
}

Async<std::vector<std::pair<Inode, std::string>>> Snapshot::names_of(Inode inode) {
  constexpr std::size_t kAtOnce = 4'096;
  std::vector<std::pair<Inode, std::string>> names;
  for (std::string from;;) {
    const std::vector<TreeEntry> found =
        CO_TRY(co_await scan(pages_, manifest_.names, from, "", kAtOnce));
    for (const auto& [key, value] : found) {
      if (CO_TRY(decode_name(value)).inode != inode) continue;
      names.emplace_back(CO_TRY(inode_of(key)), key.substr(sizeof(Inode)));
    }
    if (found.size() < kAtOnce) co_return names;
    from = found.back().first + '\0';
  }
}

Async<std::vector<Snapshot::Stored>> Snapshot::stored_from(Inode inode, Inode end,
                                                           std::size_t max) {
  const std::vector<TreeEntry> records =
      CO_TRY(co_await scan(pages_, manifest_.inodes, inode_key(inode), inode_key(end), max));
  std::vector<Stored> all;
  all.reserve(records.size());
  for (const auto& [key, value] : records) {
    all.push_back({CO_TRY(inode_of(key)), CO_TRY(extents_of(key, value))});
  }
  co_return all;
}

Async<std::vector<Extent>> Snapshot::extents(Inode inode, Node node) {
  if (node.size == 0 || !node.extents.empty()) co_return std::move(node.extents);
  const std::vector<TreeEntry> records = CO_TRY(co_await scan(
      pages_, manifest_.inodes, extents_key(inode, 0), inode_key(inode + 1), kAllEntries));
  std::vector<Extent> all;
  std::uint64_t length = 0;
  for (const auto& [key, value] : records) {
    if (key != extents_key(inode, length)) co_return no_record();
    for (Extent& extent : CO_TRY(decode_extents(value))) {
      length += extent.length;
      all.push_back(std::move(extent));
    }
  }
  if (length != node.size) co_return no_record();
  co_return all;
}

Async<std::optional<Extent>> Snapshot::chunk(hash::Digest hash) {
  const std::optional<std::string> bytes =
      CO_TRY(co_await find(pages_, manifest_.chunks, std::string(hash.data(), hash.size())));
  if (!bytes) co_return std::optional<Extent>();
  std::vector<Extent> extents = CO_TRY(decode_extents(*bytes));
  if (extents.size() != 1) co_return no_record();
  co_return std::optional(std::move(extents.front()));
}

}  // namespace runnel::volume
