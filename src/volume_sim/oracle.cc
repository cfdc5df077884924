#include "volume_sim/oracle.h"

#include <algorithm>
#include <utility>

#include "async/event_loop.h"
#include "async/virtual/process.h"
#include "base/check.h"
#include "volume/condemned.h"
#include "volume/marks.h"
#include "volume/session.h"
#include "volume/store_pages.h"

namespace runnel::volume_sim {
namespace {

const std::string kPrefix = std::string(kVolume) + "/";

// Reads the bucket without time.
class DirectStore final : public object::ObjectStore {
 public:
  explicit DirectStore(const Bucket& bucket) : bucket_(bucket) {}

  Async<void> read(std::string key, std::string /*stamp*/, std::int64_t offset,
                   std::span<char> into, async::StopToken /*stop*/) override {
    const Bucket::Stored* const found = bucket_.find(key);
    const bool is_there =
        found != nullptr && offset + std::ssize(into) <= std::ssize(*found->bytes);
    if (!is_there) co_return Error(Errc::kNotFound, "there is no object " + key).with_value(key);
    std::copy_n(found->bytes->begin() + offset, into.size(), into.begin());
    co_return {};
  }
  Async<object::Object> get(std::string key, std::int64_t, async::StopToken) override {
    co_return unused(key);
  }
  Async<std::string> put(std::string key, object::Body, object::Condition,
                         async::StopToken) override {
    co_return unused(key);
  }
  Async<void> remove(std::string key, async::StopToken) override { co_return unused(key); }
  Async<object::ListPage> list(std::string prefix, std::string, async::StopToken) override {
    co_return unused(prefix);
  }
  const std::string& name() const override { return name_; }

 private:
  static Error unused(const std::string& key) {
    return Error(Errc::kInternal, "the oracle reads pages alone").with_value(key);
  }

  const Bucket& bucket_;
  const std::string name_ = "bucket";
};

}  // namespace

// What manifests reach, each walked once: objects never change.
class Oracle::Reach {
 public:
  explicit Reach(const Bucket& bucket)
      : agenda_(Time::from_millis(0)),
        loop_(std::make_unique<async::VirtualProcess>(agenda_, async::VirtualOptions())),
        store_(bucket),
        pages_(store_, kPrefix, std::size_t{8} << 20, {}) {}

  Result<Keys> of(const volume::Manifest& manifest, const std::string& key, bool with_chunks) {
    using volume::Marks;
    Marks marks;
    const auto chunks = with_chunks ? Marks::Chunks::kAll : Marks::Chunks::kNone;
    TRY(loop_.block_on(marks.add(pages_, manifest, chunks, Marks::Missing::kError)));
    marks.add_key(key);
    return marks.keys();
  }

 private:
  Agenda agenda_;
  async::EventLoop loop_;
  DirectStore store_;
  volume::StorePages pages_;

 public:
  std::map<std::pair<std::string, bool>, Keys> known;
};

Oracle::Oracle(const Agenda& agenda, const Bucket& bucket)
    : agenda_(agenda), bucket_(bucket), reach_(std::make_unique<Reach>(bucket)) {}
Oracle::~Oracle() = default;

void Oracle::found_wrong(std::string what) {
  if (violation_.empty()) violation_ = std::move(what);
}

volume::Head Oracle::head() const {
  const Bucket::Stored* const stored = bucket_.find(kPrefix + "head");
  return stored == nullptr ? volume::Head() : MUST(volume::decode_head(*stored->bytes));
}

const Oracle::Keys& Oracle::reach(const std::string& manifest_key, bool with_chunks) {
  const auto place = std::pair(manifest_key, with_chunks);
  if (const auto found = reach_->known.find(place); found != reach_->known.end()) {
    return found->second;
  }
  static const Keys kNothing;
  const Bucket::Stored* const stored = bucket_.find(kPrefix + manifest_key);
  if (stored == nullptr) {
    found_wrong("1: the manifest " + manifest_key + " is not there");
    return kNothing;
  }
  Result<Keys> keys =
      reach_->of(MUST(volume::decode_manifest(*stored->bytes)), manifest_key, with_chunks);
  if (!keys.ok()) {
    found_wrong("1: " + manifest_key + " is not whole: " + keys.error().to_string());
    return kNothing;
  }
  return reach_->known.emplace(place, *std::move(keys)).first->second;
}

void Oracle::check_reach(const std::string& manifest_key, bool with_chunks) {
  for (const std::string& key : reach(manifest_key, with_chunks)) {
    if (bucket_.find(kPrefix + key) == nullptr) {
      return found_wrong("1: " + manifest_key + " refers to " + key + ", which is not there");
    }
    if (removed_.contains(key)) {
      return found_wrong("3: " + manifest_key + " refers to " + key + ", which was deleted");
    }
  }
}

void Oracle::changes(const Bucket::Change& change) {
  if (change.after == nullptr) return check_removal(change);
  const std::string key = change.key.substr(kPrefix.size());
  if (key == "head") check_head(change.before, *change.after);
  if (!key.starts_with("s/")) return;
  const bool comes_back = change.before == nullptr && !owners_.emplace(key, change.process).second;
  const bool was_still =
      change.before != nullptr && agenda_.now() - change.before->changed >= volume::Session::kTtl;
  if (comes_back || was_still) stood_still_[key] = agenda_.now();
}

void Oracle::check_head(const Bucket::Stored* before, const Bucket::Stored& after) {
  const volume::Head next = MUST(volume::decode_head(*after.bytes));
  if (before == nullptr) return;
  const volume::Head last = MUST(volume::decode_head(*before->bytes));
  if (next.generation != last.generation + 1) return found_wrong("2: a generation is left out");
  if (next.uuid != last.uuid) return found_wrong("2: the head is another volume's");
  if (next.newest() != nullptr) {
    check_reach(next.newest()->key, true);
    const bool is_new =
        last.newest() == nullptr || next.newest()->version != last.newest()->version;
    const Bucket::Stored* const stored = bucket_.find(kPrefix + next.newest()->key);
    if (is_new && stored != nullptr) {
      const volume::Manifest manifest = MUST(volume::decode_manifest(*stored->bytes));
      const std::string over = last.newest() == nullptr ? "" : last.newest()->version;
      if (manifest.parent != over) return found_wrong("2: a version comes of an older one");
      versions_.insert(manifest.version);
      ++publishes_;
    }
  }
  for (const volume::VersionPlace& place : next.recent) check_reach(place.key, false);
  for (const auto& [name, place] : next.tags) check_reach(place.key, false);
  if (next.collections != last.collections) check_list(next);
}

void Oracle::check_list(const volume::Head& next) {
  ++collections_;
  const Bucket::Stored* const list = bucket_.find(kPrefix + next.condemned);
  if (list == nullptr) return found_wrong("1: a list of garbage is not there");
  const volume::Condemned condemned = MUST(volume::decode_condemned(*list->bytes));
  Keys needed;
  const auto add = [&](const std::string& manifest_key, bool with_chunks) {
    const Keys& keys = reach(manifest_key, with_chunks);
    needed.insert(keys.begin(), keys.end());
  };
  for (const volume::VersionPlace& place : next.recent) {
    add(place.key, place == next.recent.front());
  }
  for (const auto& [name, place] : next.tags) add(place.key, false);
  for (const auto& [session, manifest_key] : held_) add(manifest_key, false);
  for (const std::string& key : condemned.keys) {
    if (needed.contains(key)) return found_wrong("1: " + key + " is condemned and needed");
  }
}

bool Oracle::is_needed(const std::string& key) {
  const volume::Head now = head();
  for (const volume::VersionPlace& place : now.recent) {
    if (reach(place.key, place == now.recent.front()).contains(key)) return true;
  }
  for (const auto& [name, place] : now.tags) {
    if (reach(place.key, false).contains(key)) return true;
  }
  for (const auto& [session, manifest_key] : held_) {
    if (reach(manifest_key, false).contains(key)) return true;
  }
  return false;
}

void Oracle::check_removal(const Bucket::Change& change) {
  const std::string key = change.key.substr(kPrefix.size());
  if (key == "head") return found_wrong("1: the head is removed");
  if (key.starts_with("s/")) {
    const bool is_owners = owners_[key] == change.process || dead_.contains(owners_[key]);
    // Up to a while ago: who removes it may have been stopped since, for two minutes at most, and
    // the removal have been on its way.
    constexpr Duration kOnItsWay = Duration::minutes(3);
    const bool stood_still =
        agenda_.now() - change.before->changed >= volume::Session::kTtl ||
        (stood_still_.contains(key) && agenda_.now() - stood_still_[key] < kOnItsWay);
    if (!is_owners && !stood_still) found_wrong("4: " + key + " is removed while it lives");
    held_.erase(key);
    return;
  }
  if (is_needed(key)) found_wrong("1: " + key + " is removed and needed");
  removed_.insert(key);
}

void Oracle::holds(const std::string& session, const std::string& manifest_key) {
  if (has_session(session)) held_[session] = manifest_key;
}

void Oracle::lets_go(const std::string& session) { held_.erase(session); }

bool Oracle::has_session(const std::string& session) const {
  return bucket_.find(kPrefix + session) != nullptr;
}

void Oracle::told_published(const std::string& version) {
  if (!versions_.contains(version)) found_wrong("2: version " + version + " was never the newest");
}

void Oracle::saw(const std::string& version, const Files& files) {
  const auto [known, is_first] = files_.emplace(version, files);
  if (!is_first && known->second != files) found_wrong("5: version " + version + " has changed");
}

void Oracle::check_end() {
  const volume::Head now = head();
  for (const auto& [key, stored] : bucket_.objects()) {
    const std::string below = key.substr(kPrefix.size());
    if (below == "head" || below == now.condemned || is_needed(below)) continue;
    return found_wrong("7: " + below + " is left behind");
  }
}

}  // namespace runnel::volume_sim
