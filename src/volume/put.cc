#include "volume/put.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "async/worker.h"
#include "base/check.h"
#include "volume/chunk_packs.h"
#include "volume/kept_session.h"

namespace runnel::volume {
namespace {

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
        options_(std::move(options)),
        now_(volume.wall()),
        base_(std::move(base)),
        packs_(loop, volume, base_, options_.pack_bytes) {}

  std::set<std::string> keys_in_use() const { return packs_.keys_in_use(); }

  // Whether its session is that of an interrupted put.
  enum class Begin : std::uint8_t { kAnew, kGoesOn };

  Async<PutResult> run(Begin begin, async::StopToken stop) {
    if (begin == Begin::kGoesOn) CO_TRY(co_await packs_.find_earlier());
    worker_ = CO_TRY(async::Worker::create(loop_, {.name = "volume-put"}));
    Result<PutResult> done = co_await pack_and_publish(std::move(stop));
    MUST(co_await packs_.close());
    MUST(co_await source_->close());
    MUST(co_await worker_->stop());
    co_return done;
  }

 private:
  Async<PutResult> pack_and_publish(async::StopToken stop) {
    root_ = Edit::folder(now_);
    Edit& into = folder_at(root_, CO_TRY(path_parts(options_.into)), now_);
    into.whole = options_.mirror;
    for (bool more = true; more;) {
      CO_TRY(stop.check());
      ReadBatch batch = CO_TRY(co_await source_->next(*worker_));
      more = !batch.is_last;
      CO_TRY(co_await take(batch, into));
      if (options_.progress) options_.progress(done());
    }
    take_root(into);
    CO_TRY(co_await packs_.finish(*worker_));
    name_packs(root_);
    CO_TRY(source_->check(root_));
    PutResult result{.manifest = {}, .done = done(), .passed_over = source_->passed_over()};
    result.manifest = CO_TRY(co_await volume_.publish(root_, packs_.take_new(), packs_.stored(),
                                                      std::move(options_.message)));
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
    CO_TRY(co_await packs_.add(batch, *worker_));
    for (const ReadEntry& entry : batch.entries) CO_TRY(add(entry, into));
    done_.bytes += std::ssize(batch.bytes);
    co_return {};
  }

  PutProgress done() const {
    PutProgress now = done_;
    now.stored = packs_.stored();
    now.reused = packs_.reused();
    return now;
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
    for (const ReadChunk& chunk : entry.chunks) {
      extents.push_back(packs_.extent_of(chunk));
      if (chunk.is_hole) done_.bytes += static_cast<std::int64_t>(chunk.length);
    }
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

  void name_packs(Edit& edit) {
    packs_.name(edit.node.extents);
    for (auto& [name, entry] : edit.entries) name_packs(entry);
  }

  async::EventLoop& loop_;
  Volume& volume_;
  const std::unique_ptr<PutSource> source_;
  PutOptions options_;
  const Time now_;  // Of folders that are made and the source does not name.
  Snapshot base_;
  ChunkPacks packs_;
  std::unique_ptr<async::Worker> worker_;
  Edit root_;
  PutProgress done_;  // But for packs.
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
  CO_TRY(co_await volume.check_not_leased());
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
