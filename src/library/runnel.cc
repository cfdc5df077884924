#include "library/runnel.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/units.h"
#include "home/home.h"
#include "home/paths.h"
#include "home/volume_places.h"
#include "library/refusal.h"
#include "library/server_place.h"
#include "library/volume_handle.h"
#include "volume_server/request_of_process.h"

struct runnel_volume {
  std::unique_ptr<runnel::library::VolumeHandle> handle;
  std::string reference;  // As text.
  std::string where;      // As errors call it.

  explicit runnel_volume(std::unique_ptr<runnel::library::VolumeHandle> opened)
      : handle(std::move(opened)),
        reference(runnel::library::encode_reference(handle->reference())),
        where(handle->reference().volume + "@" + handle->reference().version) {}
};

namespace runnel::library {
namespace {

constexpr const char* kCacheSize = "10GiB";

// --- Errors.

int tell(runnel_error* error, int number, const std::string& text) {
  CHECK(number > 0, "an error without a number");
  if (error != nullptr) {
    error->number = number;
    const std::size_t size = std::min(text.size(), sizeof error->text - 1);
    std::copy_n(text.data(), size, error->text);
    error->text[size] = '\0';
  }
  return -number;
}

int tell_opening(runnel_error* error, const Error& why) {
  return tell(error, number_of_opening(why), why.to_string());
}

int tell_asking(runnel_error* error, const Error& why) {
  return tell(error, number_of_asking(why), why.to_string());
}

int tell_refusal(runnel_error* error, Refusal why, const char* path, const runnel_volume& volume) {
  return tell(error, number_of(why), text_of(why, path, volume.where));
}

// --- Opening.

std::optional<std::string> given(const char* text) {
  return text == nullptr ? std::nullopt : std::optional<std::string>(text);
}

Result<std::optional<volume::DiskCache::Options>> cache_of(const char* folder, const char* size) {
  if (folder == nullptr && size != nullptr) {
    return Error(Errc::kInvalid, "a size is given of a cache, and no cache")
        .with_field("cache_size")
        .with_value(size)
        .with_hint("name its folder: cache=");
  }
  if (folder == nullptr) return std::optional<volume::DiskCache::Options>();
  const Result<Bytes> bytes = parse_bytes(size == nullptr ? kCacheSize : size);
  if (!bytes.ok()) return Error(bytes.error()).with_field("cache_size");
  return std::optional(volume::DiskCache::Options{TRY(home::absolute_path(folder)), *bytes});
}

Result<std::string> store_of(const std::string& name, const char* store) {
  if (store != nullptr) return TRY(object::parse_store_url(store)).to_string();
  const home::Home home = TRY(home::find_home(""));
  return TRY(home::place_of_volume(home, name, std::nullopt)).to_string();
}

// Here, since other threads may change the environment later.
void find_server(Opening& opening) {
  opening.server = server_place();
  opening.store_variables = volume_server::store_variables();
}

Result<std::unique_ptr<VolumeHandle>> open_named(const char* name, const char* version,
                                                 const char* store, const char* cache,
                                                 const char* cache_size) {
  TRY(volume::check_volume_name(name));
  Opening opening;
  opening.reference.volume = name;
  opening.reference.version = given(version).value_or("latest");
  opening.reference.store = TRY(store_of(name, store));
  opening.cache = TRY(cache_of(cache, cache_size));
  find_server(opening);
  return VolumeHandle::open(std::move(opening));
}

Result<std::unique_ptr<VolumeHandle>> open_referred(const char* reference, const char* cache,
                                                    const char* cache_size) {
  Opening opening;
  opening.reference = TRY(decode_reference(reference));
  TRY(volume::check_volume_name(opening.reference.volume));
  opening.cache = TRY(cache_of(cache, cache_size));
  find_server(opening);
  return std::make_unique<VolumeHandle>(std::move(opening));
}

runnel_volume* given_out(Result<std::unique_ptr<VolumeHandle>> opened, runnel_error* error) {
  if (opened.ok()) return std::make_unique<runnel_volume>(*std::move(opened)).release();
  tell_opening(error, opened.error());
  return nullptr;
}

// --- Answers.

std::uint32_t kind_of(volume::NodeKind kind) {
  switch (kind) {
    case volume::NodeKind::kFolder: return S_IFDIR;
    case volume::NodeKind::kLink: return S_IFLNK;
    case volume::NodeKind::kFile: break;
  }
  return S_IFREG;
}

runnel_attributes attributes_of(volume::Inode inode, const volume::Node& node) {
  const bool is_link = node.kind == volume::NodeKind::kLink;
  runnel_attributes all{};
  all.inode = inode;
  all.size = is_link ? node.target.size() : node.size;
  all.changed = node.changed;
  all.changed_nanos = node.changed_nanos;
  all.mode = kind_of(node.kind) | volume::given_mode(node);
  all.links = node.kind == volume::NodeKind::kFolder ? 1 : node.links;
  all.owner = node.owner.value_or(::getuid());
  all.group = node.group.value_or(::getgid());
  return all;
}

void put_entry(const VersionReader::Entry& entry, runnel_entry& into) {
  CHECK(entry.name.size() < sizeof into.name, "the index has a name of over 255 bytes");
  into = {};
  into.attributes.inode = entry.what.inode;
  into.attributes.mode = kind_of(entry.what.kind);
  if (entry.node) into.attributes = attributes_of(entry.what.inode, *entry.node);
  std::copy_n(entry.name.data(), entry.name.size(), into.name);
}

// Where the bytes of a caller go.
struct Room {
  void* begin;
  std::size_t size;
};

std::size_t copy_of(const VersionReader::Pieces& pieces, const Room& room) {
  auto* const begin = static_cast<char*>(room.begin);
  std::size_t size = 0;
  for (const volume::HeldBytes& piece : pieces) {
    CHECK(piece.bytes.size() <= room.size - size, "more bytes of a file than were asked for");
    std::copy_n(piece.bytes.data(), piece.bytes.size(), begin + size);
    size += piece.bytes.size();
  }
  return size;
}

std::int64_t copy_of(const VersionReader::FolderPart& part, runnel_entry* entries,
                     std::size_t max) {
  CHECK(part.entries.size() <= max, "more entries of a folder than were asked for");
  for (const VersionReader::Entry& entry : part.entries) put_entry(entry, *entries++);
  return static_cast<std::int64_t>(part.entries.size());
}

}  // namespace
}  // namespace runnel::library

using runnel::Result;
using runnel::library::LastLink;
using runnel::library::PathEnd;
using runnel::library::VersionReader;

int runnel_abi(void) { return RUNNEL_ABI; }

runnel_volume* runnel_open(const char* name, const char* version, const char* store,
                           const char* cache, const char* cache_size, runnel_error* error) {
  return runnel::library::given_out(
      runnel::library::open_named(name, version, store, cache, cache_size), error);
}

runnel_volume* runnel_open_reference(const char* reference, const char* cache,
                                     const char* cache_size, runnel_error* error) {
  return runnel::library::given_out(runnel::library::open_referred(reference, cache, cache_size),
                                    error);
}

const char* runnel_reference(const runnel_volume* volume) { return volume->reference.c_str(); }

const char* runnel_version(const runnel_volume* volume) {
  return volume->handle->reference().version.c_str();
}

int runnel_stat(runnel_volume* volume, const char* path, enum runnel_links links,
                runnel_attributes* found, runnel_error* error) {
  const LastLink last = links == RUNNEL_FOLLOW_LINKS ? LastLink::kFollow : LastLink::kStay;
  const Result<PathEnd> end =
      volume->handle->ask<PathEnd>([&](VersionReader& reader) { return reader.find(path, last); });
  if (!end.ok()) return runnel::library::tell_asking(error, end.error());
  if (end->refusal) return runnel::library::tell_refusal(error, *end->refusal, path, *volume);
  *found = runnel::library::attributes_of(end->found.inode, end->found.node);
  return 0;
}

int64_t runnel_list(runnel_volume* volume, const char* path, const char* after,
                    enum runnel_details details, runnel_entry* entries, size_t max,
                    runnel_error* error) {
  const auto wanted = details == RUNNEL_ALL_DETAILS ? VersionReader::Details::kAll
                                                    : VersionReader::Details::kInodeAndKind;
  const Result<VersionReader::FolderPart> part = volume->handle->ask<VersionReader::FolderPart>(
      [&](VersionReader& reader) { return reader.list(path, after, max, wanted); });
  if (!part.ok()) return runnel::library::tell_asking(error, part.error());
  if (part->refusal) return runnel::library::tell_refusal(error, *part->refusal, path, *volume);
  return runnel::library::copy_of(*part, entries, max);
}

int64_t runnel_read(runnel_volume* volume, uint64_t inode, uint64_t offset, void* buffer,
                    size_t length, runnel_error* error) {
  size_t done = 0;
  while (done < length) {
    const size_t part = std::min<size_t>(length - done, VersionReader::kReadMax);
    const Result<VersionReader::Pieces> pieces = volume->handle->ask<VersionReader::Pieces>(
        [&](VersionReader& reader) { return reader.read(inode, offset + done, part); });
    if (!pieces.ok()) return runnel::library::tell_asking(error, pieces.error());
    const size_t copied =
        runnel::library::copy_of(*pieces, {static_cast<char*>(buffer) + done, part});
    done += copied;
    if (copied < part) break;
  }
  return static_cast<int64_t>(done);
}

int64_t runnel_load(runnel_volume* volume, const char* path, runnel_attributes* found, void* buffer,
                    size_t length, runnel_error* error) {
  const Result<VersionReader::SmallFile> file = volume->handle->ask<VersionReader::SmallFile>(
      [&](VersionReader& reader) { return reader.load(path, length); });
  if (!file.ok()) return runnel::library::tell_asking(error, file.error());
  const PathEnd& end = file->end;
  if (end.refusal) return runnel::library::tell_refusal(error, *end.refusal, path, *volume);
  *found = runnel::library::attributes_of(end.found.inode, end.found.node);
  if (found->size > length) return 0;
  const bool is_here = found->size <= VersionReader::kReadMax;
  if (!is_here) return runnel_read(volume, found->inode, 0, buffer, found->size, error);
  return static_cast<int64_t>(runnel::library::copy_of(file->pieces, {buffer, length}));
}

void runnel_close(runnel_volume* volume) { volume->handle->close(); }

void runnel_free(runnel_volume* volume) { const std::unique_ptr<runnel_volume> ours(volume); }
