#include "volume/tar_source.h"

#include <algorithm>
#include <utility>

#include "volume/chunker.h"

namespace runnel::volume {
namespace {

constexpr std::size_t kTarReadBytes = 4 << 20;
constexpr std::size_t kTarTargetMax = 4'096;
// Twice what this machine has paths of; whoever walks a tree needs some memory for each folder that
// is in another.
constexpr std::size_t kTarPathMax = 8'192;

using PathParts = std::vector<std::string>;

// The parts of a name as tar writes it: "./a/b", "a/b/", "./" for the root.
Result<PathParts> tar_parts(std::string_view name) {
  if (name.starts_with('/')) return Error(Errc::kInvalid, "it is absolute");
  if (name.size() > kTarPathMax) {
    return Error(Errc::kInvalid, "it has " + std::to_string(name.size()) + " bytes; " +
                                     std::to_string(kTarPathMax) + " can be");
  }
  std::string plain;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string_view part = name.substr(begin, end - begin);
    begin = end + 1;
    if (part.empty() || part == ".") continue;
    plain += (plain.empty() ? "" : "/") + std::string(part);
  }
  return path_parts(plain);
}

// As it is; of a dump the sums are of that.
Node node_of_tar(const TarEntry& tar, NodeKind kind) {
  Node node;
  node.kind = kind;
  node.mode = kind == NodeKind::kLink ? 0777U : tar.mode;
  node.changed = tar.changed;
  node.changed_nanos = tar.changed_nanos;
  return node;
}

}  // namespace

Error TarSource::refused(Errc code, const std::string& why) const {
  return Error(code, reader_->name() + ": " + why).with_value(reader_->name());
}

Async<ReadBatch> TarSource::next(async::Worker& worker) {
  co_return co_await worker.run([this] { return read_batch(); });
}

Result<ReadBatch> TarSource::read_batch() {
  ReadBatch batch;
  while (batch.bytes.size() < SourceTree::kBatchBytes &&
         batch.entries.size() < SourceTree::kBatchEntries) {
    if (long_) {
      TRY(read_more(batch));
      continue;
    }
    const std::optional<TarEntry> entry = TRY(reader_->next());
    if (!entry) {
      TRY(ended());
      batch.is_last = true;
      break;
    }
    std::optional<PathParts> path = TRY(path_of(*entry));
    if (!path) continue;
    if (!path->empty()) {
      TRY(take(batch, *entry, *std::move(path)));
    } else if (entry->kind == TarEntry::Kind::kFolder) {
      root_ = node_of_tar(*entry, NodeKind::kFolder);
    }
  }
  return batch;
}

Result<std::optional<PathParts>> TarSource::path_of(const TarEntry& entry) {
  return std::optional(TRY(parts_of(entry.path)));
}

Result<PathParts> TarSource::parts_of(const std::string& name) const {
  Result<PathParts> parts = tar_parts(name);
  if (parts.ok()) return parts;
  return refused(Errc::kInvalid, "the name '" + name.substr(0, 300) +
                                     "' cannot be one in a volume: " + parts.error().message)
      .with_hint("nothing of it was taken; make the tar without it, as by tar --transform");
}

Result<void> TarSource::take(ReadBatch& batch, const TarEntry& entry, PathParts path) {
  ReadEntry read;
  read.path = std::move(path);
  switch (entry.kind) {
    case TarEntry::Kind::kFile:
      read.node = node_of_tar(entry, NodeKind::kFile);
      return take_file(batch, std::move(read), entry.size);
    case TarEntry::Kind::kFolder:
      read.node = node_of_tar(entry, NodeKind::kFolder);
      add(batch, std::move(read));
      return {};
    case TarEntry::Kind::kLink: return take_link(batch, std::move(read), entry);
    case TarEntry::Kind::kHardLink: {
      read.node = node_of_tar(entry, NodeKind::kFile);
      read.same_as = TRY(parts_of(entry.target));
      add(batch, std::move(read));
      return {};
    }
    case TarEntry::Kind::kOther: passed_over_.push_back(entry.path);
  }
  return {};
}

Result<void> TarSource::take_link(ReadBatch& batch, ReadEntry entry, const TarEntry& tar) {
  if (tar.target.empty() || tar.target.size() > kTarTargetMax) {
    return refused(Errc::kInvalid, "the link '" + tar.path + "' leads to a path of " +
                                       std::to_string(tar.target.size()) +
                                       " bytes; 1 to 4096 can be");
  }
  entry.node = node_of_tar(tar, NodeKind::kLink);
  entry.node.target = tar.target;
  add(batch, std::move(entry));
  return {};
}

Result<void> TarSource::take_file(ReadBatch& batch, ReadEntry entry, std::uint64_t size) {
  if (size > kWholeFileMax) {
    long_.emplace(LongFile{std::move(entry), {}});
    return {};
  }
  const std::size_t begin = batch.bytes.size();
  for (std::size_t left = size; left > 0;) {
    const ReadPiece some = TRY(reader_->read(batch.bytes, left));
    batch.bytes.append(std::min<std::uint64_t>(some.zeros, left), '\0');
    if (some.bytes == 0 && some.zeros == 0) break;
    left -= std::min<std::uint64_t>(some.bytes + some.zeros, left);
  }
  const std::string_view bytes = std::string_view(batch.bytes).substr(begin);
  entry.node.size = bytes.size();
  entry.node.hash = hash::sha256(bytes);
  if (!bytes.empty()) entry.chunks.push_back({entry.node.hash, begin, bytes.size()});
  add(batch, std::move(entry));
  return {};
}

Result<void> TarSource::read_more(ReadBatch& batch) {
  ReadEntry part = long_->entry;
  long_->entry.is_first = false;
  Result<bool> is_whole = long_->cutter.fill(
      batch, part, [this](std::string& bytes) { return reader_->read(bytes, kTarReadBytes); });
  if (!is_whole.ok() && is_whole.error().code == Errc::kInvalid) {
    return refused(Errc::kInvalid, "'" + path_text(part.path) + "': " + is_whole.error().message);
  }
  part.is_whole = TRY(std::move(is_whole));
  if (part.is_whole) {
    long_->cutter.finish(part.node);
    long_.reset();
  }
  add(batch, std::move(part));
  return {};
}

void TarSource::add(ReadBatch& batch, ReadEntry entry) {
  was_read(entry);
  if (!keeps_modes()) entry.node.mode = given_mode(entry.node);
  batch.entries.push_back(std::move(entry));
}

// --- Dumps.

Result<std::string> DumpSource::read_text(const TarEntry& entry) {
  std::string text;
  if (entry.kind != TarEntry::Kind::kFile || entry.size > kDumpTextMax) {
    return refused(Errc::kCorrupt, "'" + entry.path + "' of the dump is damaged");
  }
  while (TRY(reader().read(text, kDumpTextMax)).bytes > 0) {
  }
  return text;
}

Result<DumpHeader> DumpSource::read_header() {
  const std::optional<TarEntry> first = TRY(reader().next());
  if (!first || first->path != kDumpBegin) {
    return refused(Errc::kInvalid, "it is a tar, and no dump of a volume")
        .with_hint("a tar of files comes in by: runnel volume import");
  }
  Result<DumpHeader> header = decode_dump_header(TRY(read_text(*first)));
  if (!header.ok()) {
    Error error = header.error();
    error.message = reader().name() + ": " + error.message;
    return error;
  }
  header_ = *header;
  return header;
}

Result<std::optional<PathParts>> DumpSource::path_of(const TarEntry& entry) {
  if (has_ended_) {
    return refused(Errc::kCorrupt, "the dump has '" + entry.path + "' behind its end");
  }
  if (entry.path == kDumpEnd) {
    has_ended_ = true;
    if (TRY(read_text(entry)) == digest_.end()) return std::optional<PathParts>();
    return refused(Errc::kCorrupt, "the dump is not what its end says: it was changed");
  }
  PathParts path = *TRY(TarSource::path_of(entry));
  if (path.empty() || path.front() != kDumpTree) {
    return refused(Errc::kCorrupt, "the dump has '" + entry.path + "' outside of its tree");
  }
  path.erase(path.begin());
  return std::optional(std::move(path));
}

void DumpSource::was_read(const ReadEntry& entry) {
  if (entry.is_whole) digest_.add(entry.path, entry.node);
}

Result<void> DumpSource::ended() {
  if (has_ended_) return {};
  return refused(Errc::kCorrupt, "the dump is cut: its end is missing")
      .with_hint("nothing of it was loaded; get it anew");
}

Result<void> DumpSource::check(const Edit& whole) const {
  if (tree_hash(whole) == header_.tree) return {};
  return refused(Errc::kCorrupt, "the dump has another tree than its beginning says");
}

}  // namespace runnel::volume
