#include "volume/put.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "async/event.h"
#include "async/gate.h"
#include "async/worker.h"
#include "base/check.h"
#include "volume/compression.h"
#include "volume/fixed.h"
#include "volume/kept_session.h"
#include "volume/pack.h"

namespace runnel::volume {
namespace {

constexpr int kPacksUnderWay = 3;

// What a pack is called until it is whole: extents of its chunks are changed to its id at the end.
ObjectId provisional_id(std::uint64_t number) {
  std::string bytes(ObjectId::kBytes - sizeof number, '\0');
  append_u64be(bytes, number);
  ObjectId id;
  std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
  return id;
}

// A chunk to be packed, in the bytes of its batch.
struct Fresh {
  hash::Digest hash{};
  std::string_view bytes;
};

// Packs that are whole, with what they were called before.
struct WholePack {
  ObjectId before;
  std::string bytes;
};

// Fills packs one after another.
class Packing {
 public:
  explicit Packing(std::uint64_t bytes) : pack_bytes_(bytes) {}

  // The extents of the chunks, in order.
  std::vector<Extent> add(const std::vector<Fresh>& chunks) {
    std::vector<Extent> extents;
    extents.reserve(chunks.size());
    for (const Fresh& chunk : chunks) {
      const std::optional<std::string> frame = compressed(chunk.bytes);
      const std::string_view stored = frame ? std::string_view(*frame) : chunk.bytes;
      Extent extent =
          builder_.add(chunk.hash, stored, chunk.bytes.size(), frame ? Codec::kZstd : Codec::kRaw);
      extent.pack = provisional_id(number_);
      extents.push_back(std::move(extent));
      if (builder_.bytes() >= pack_bytes_) close();
    }
    return extents;
  }
  void close() {
    if (builder_.count() == 0) return;
    whole_.push_back({provisional_id(number_++), builder_.finish()});
  }
  std::vector<WholePack> take_whole() { return std::exchange(whole_, {}); }

 private:
  const std::uint64_t pack_bytes_;
  PackBuilder builder_;
  std::uint64_t number_ = 1;
  std::vector<WholePack> whole_;
};

Error goes_through(const std::string& way, const std::string& part) {
  return Error(Errc::kConflict, "'" + way + "' is no folder, and the source has '" + part +
                                    "' in it: " + way + "/" + part)
      .with_value(way + "/" + part)
      .with_hint("mend the source: one path of it goes through a file or a link");
}

Error is_of_two_kinds(const ReadEntry& entry) {
  const std::string path = path_text(entry.path);
  return Error(Errc::kConflict, "the source has '" + path + "' as a file and as a folder")
      .with_value(path)
      .with_hint("give the object '" + path + "' another key, or remove '" + path + "/'");
}

Error comes_twice(const ReadEntry& entry) {
  const std::string path = path_text(entry.path);
  return Error(Errc::kConflict,
               "the source has '" + path + "' as two objects, with and without '/'")
      .with_value(path)
      .with_hint("give one of them another key");
}

Error no_twin(const ReadEntry& entry) {
  const std::string path = path_text(entry.path);
  return Error(Errc::kInvalid, "'" + path + "' is a hard link to '" + path_text(entry.same_as) +
                                   "', which is no file that came before it")
      .with_value(path)
      .with_hint("mend the source: the file has to come before its other names");
}

class Put {
 public:
  Put(async::EventLoop& loop, Volume& volume, std::unique_ptr<PutSource> source, PutOptions options,
      Snapshot base)
      : loop_(loop),
        volume_(volume),
        source_(std::move(source)),
        packing_(options.pack_bytes),
        options_(std::move(options)),
        now_(volume.wall()),
        base_(std::move(base)),
        uploads_(loop),
        uploaded_(loop) {}

  // The packs that it refers to, as far as they are put.
  std::set<std::string> keys_in_use() const {
    std::set<std::string> keys;
    for (const auto& [before, id] : ids_) keys.insert(pack_key(id));
    for (const auto& [hash, pack] : there_) keys.insert(pack_key(pack.id));
    for (const auto& [hash, extent] : known_) keys.insert(pack_key(extent.pack));
    return keys;
  }

  // Whether its session is that of an interrupted put.
  enum class Begin : std::uint8_t { kAnew, kGoesOn };

  Async<PutResult> run(Begin begin, async::StopToken stop) {
    if (begin == Begin::kGoesOn) CO_TRY(co_await find_packs());
    worker_ = CO_TRY(async::Worker::create(loop_, {.name = "volume-put"}));
    Result<PutResult> done = co_await pack_and_publish(std::move(stop));
    MUST(co_await uploads_.close());
    MUST(co_await source_->close());
    MUST(co_await worker_->stop());
    co_return done;
  }

 private:
  // A pack that an interrupted put has put.
  struct EarlierPack {
    ObjectId id;
    std::int64_t bytes = 0;
  };

  Async<PutResult> pack_and_publish(async::StopToken stop) {
    root_ = Edit::folder(now_);
    Edit& into = folder_at(root_, CO_TRY(path_parts(options_.into)), now_);
    into.whole = options_.mirror;
    for (bool more = true; more;) {
      CO_TRY(stop.check());
      ReadBatch batch = CO_TRY(co_await source_->next(*worker_));
      more = !batch.is_last;
      CO_TRY(co_await take(batch, into));
      if (options_.progress) options_.progress(done_);
    }
    take_root(into);
    CO_TRY(co_await worker_->run([this] { packing_.close(); }));
    CO_TRY(co_await upload_whole());
    while (under_way_ > 0) CO_TRY(co_await uploaded_.wait());
    if (failed_) co_return *failed_;
    name_packs(root_);
    for (auto& [digest, extent] : fresh_) extent.pack = ids_.at(extent.pack);
    CO_TRY(source_->check(root_));
    PutResult result{.manifest = {}, .done = {}, .passed_over = source_->passed_over()};
    result.manifest =
        CO_TRY(co_await volume_.publish(root_, fresh_, done_.stored, std::move(options_.message)));
    result.done = done_;
    co_return result;
  }

  // Only at the end, since a tar may name its folder last.
  void take_root(Edit& into) const {
    const std::optional<Node> root = source_->root();
    if (!root) return;
    into.node = *root;
    into.renews = options_.mirror;
  }

  Async<void> take(const ReadBatch& batch, Edit& into) {
    const std::vector<Fresh> fresh = CO_TRY(co_await unknown_chunks(batch));
    const std::vector<Extent> extents =
        CO_TRY(co_await worker_->run([this, &fresh] { return packing_.add(fresh); }));
    for (std::size_t index = 0; index < fresh.size(); ++index) {
      fresh_[fresh[index].hash] = extents[index];
    }
    for (const ReadEntry& entry : batch.entries) CO_TRY(add(entry, into));
    done_.bytes += std::ssize(batch.bytes);
    co_return co_await upload_whole();
  }

  // Chunks that neither the volume nor this put has yet, each once.
  Async<std::vector<Fresh>> unknown_chunks(const ReadBatch& batch) {
    std::vector<Fresh> fresh;
    std::set<hash::Digest> now;
    for (const ReadEntry& entry : batch.entries) {
      for (const ReadChunk& chunk : entry.chunks) {
        if (fresh_.contains(chunk.hash) || known_.contains(chunk.hash)) continue;
        if (now.contains(chunk.hash)) continue;
        std::optional<Extent> there = CO_TRY(co_await base_.chunk(chunk.hash));
        if (there) {
          known_.emplace(chunk.hash, *std::move(there));
          continue;
        }
        now.insert(chunk.hash);
        fresh.push_back(
            {chunk.hash, std::string_view(batch.bytes).substr(chunk.begin, chunk.length)});
      }
    }
    co_return fresh;
  }

  // The part of a long file is added to those before.
  Result<void> add(const ReadEntry& entry, Edit& into) {
    const auto [place, is_new] = TRY(entry_of(entry.path, into));
    Edit& edit = *place;
    const bool is_another = !is_new && edit.node.kind != entry.node.kind;
    if (entry.is_of_one_kind && is_another) return is_of_two_kinds(entry);
    const bool is_file = entry.node.kind == NodeKind::kFile;
    if (entry.is_of_one_kind && is_file && entry.is_first && !is_new) return comes_twice(entry);
    std::vector<Extent> extents = std::move(edit.node.extents);
    if (entry.is_first) extents.clear();
    edit.node = entry.node;
    if (!entry.same_as.empty()) {
      const Node& twin = *TRY(earlier_file(entry, into));
      edit.node = twin;
      extents = twin.extents;
    }
    if (entry.linked) {
      extents = {linked_extent(entry.linked, entry.node.size)};
      done_.bytes += static_cast<std::int64_t>(entry.node.size);
    }
    for (const ReadChunk& chunk : entry.chunks) extents.push_back(extent_of(chunk.hash));
    edit.node.extents = std::move(extents);
    edit.exact = options_.mirror;
    if (entry.node.kind != NodeKind::kFolder) edit.entries.clear();
    if (is_file && entry.is_whole) ++done_.files;
    return {};
  }

  // The file or link that an entry is the same as.
  static Result<const Node*> earlier_file(const ReadEntry& entry, const Edit& into) {
    const Edit* edit = &into;
    for (const std::string& part : entry.same_as) {
      const auto found = edit->entries.find(part);
      if (found == edit->entries.end()) return no_twin(entry);
      edit = &found->second;
    }
    if (edit->node.kind == NodeKind::kFolder) return no_twin(entry);
    return &edit->node;
  }

  // The entry of the edit under a path of the source, made with the folders on its way, and whether
  // it is new.
  Result<std::pair<Edit*, bool>> entry_of(const std::vector<std::string>& path, Edit& into) const {
    Edit* edit = &into;
    bool is_made = false;
    std::string way;
    for (const std::string& part : path) {
      if (edit->node.kind != NodeKind::kFolder) return goes_through(way, part);
      const bool is_last = &part == &path.back();
      const auto [found, is_new] =
          edit->entries.try_emplace(part, is_last ? Edit() : Edit::folder(now_));
      edit = &found->second;
      is_made = is_new;
      if (is_new) edit->exact = options_.mirror;
      way += (way.empty() ? "" : "/") + part;
    }
    return std::pair(edit, is_made);
  }

  const Extent& extent_of(const hash::Digest& hash) const {
    const auto fresh = fresh_.find(hash);
    return fresh != fresh_.end() ? fresh->second : known_.at(hash);
  }

  Async<void> upload_whole() {
    for (WholePack& pack : packing_.take_whole()) {
      while (under_way_ >= kPacksUnderWay) CO_TRY(co_await uploaded_.wait());
      if (failed_) co_return *failed_;
      if (const std::optional<ObjectId> there = earlier_pack(pack.bytes)) {
        ids_[pack.before] = *there;
        done_.reused += std::ssize(pack.bytes);
        continue;
      }
      const ObjectId id = volume_.new_object_id(pack.bytes);
      ids_[pack.before] = id;
      ++under_way_;
      CO_TRY(loop_.spawn(uploads_, upload(id, std::move(pack.bytes))));
    }
    co_return {};
  }

  // What an interrupted put has put, under the session that this one goes on with.
  Async<void> find_packs() {
    for (const auto& [key, size] : CO_TRY(co_await volume_.session().own_objects("p/"))) {
      const ObjectId id = CO_TRY(ObjectId::parse(key.substr(2)));
      there_.emplace(id.hash(), EarlierPack{id, size});
    }
    co_return {};
  }

  // The one with these bytes that an interrupted put has put.
  std::optional<ObjectId> earlier_pack(std::string_view bytes) const {
    if (there_.empty()) return std::nullopt;  // Its bytes need not be hashed to tell.
    const ObjectId same = ObjectId::of(bytes, std::string(ObjectId::kBytes / 2, '\0'));
    const auto found = there_.find(std::string(same.hash()));
    if (found == there_.end() || found->second.bytes != std::ssize(bytes)) return std::nullopt;
    return found->second.id;
  }

  Async<void> upload(ObjectId id, std::string bytes) {
    const std::int64_t size = std::ssize(bytes);
    const Result<void> put = co_await volume_.put_object(pack_key(id), std::move(bytes));
    --under_way_;
    if (put.ok()) {
      done_.stored += size;
    } else if (!failed_) {
      failed_ = put.error();
    }
    uploaded_.notify_all();
    co_return {};
  }

  void name_packs(Edit& edit) {
    for (Extent& extent : edit.node.extents) {
      const auto named = ids_.find(extent.pack);
      if (named != ids_.end()) extent.pack = named->second;
    }
    for (auto& [name, entry] : edit.entries) name_packs(entry);
  }

  async::EventLoop& loop_;
  Volume& volume_;
  const std::unique_ptr<PutSource> source_;
  Packing packing_;  // The worker's.
  PutOptions options_;
  const Time now_;  // Of folders that are made and the source does not name.
  Snapshot base_;
  std::unique_ptr<async::Worker> worker_;
  Edit root_;
  NewChunks fresh_;                           // Packed by this put.
  std::map<hash::Digest, Extent> known_;      // Found in the volume.
  std::map<ObjectId, ObjectId> ids_;          // Of packs, by what they were called before.
  std::map<std::string, EarlierPack> there_;  // By the hashes in their names.
  async::Gate uploads_;
  async::Notifier uploaded_;
  int under_way_ = 0;
  std::optional<Error> failed_;
  PutProgress done_;
};

}  // namespace

Async<PutResult> put_tree(async::EventLoop& loop, Volume& volume,
                          std::unique_ptr<SourceTree> source, PutOptions options,
                          async::StopToken stop) {
  return put_from(loop, volume, source_of(std::move(source)), std::move(options), std::move(stop));
}

Async<PutResult> put_from(async::EventLoop& loop, Volume& volume, std::unique_ptr<PutSource> source,
                          PutOptions options, async::StopToken stop) {
  CO_TRY(check_message(options.message));
  SessionRecord who = volume.processes().this_one("put");
  who.source = options.source;
  const bool goes_on = CO_TRY(co_await volume.go_on_writing(who));
  const auto begin = goes_on ? Put::Begin::kGoesOn : Put::Begin::kAnew;
  if (!goes_on) CO_TRY(co_await volume.begin_writing(std::move(who)));
  Snapshot base = CO_TRY(co_await volume.snapshot("latest"));
  Put put(loop, volume, std::move(source), std::move(options), std::move(base));
  co_return co_await with_session<PutResult>(
      loop, volume, [&put] { return put.keys_in_use(); },
      [&put, begin](async::StopToken token) { return put.run(begin, std::move(token)); },
      std::move(stop));
}

}  // namespace runnel::volume
