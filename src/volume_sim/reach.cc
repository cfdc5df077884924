#include "volume_sim/reach.h"

#include <algorithm>

#include "async/virtual/process.h"
#include "volume/layered_store.h"
#include "volume/marks.h"
#include "volume/store_pages.h"

namespace runnel::volume_sim {
namespace {

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

// The pages of a volume, and where its objects lie.
class Reach::Pages {
 public:
  Pages(const Bucket& bucket, std::vector<std::string> prefixes)
      : bucket_(bucket), prefixes_(std::move(prefixes)), direct_(bucket) {
    object::ObjectStore* store = &direct_;
    if (prefixes_.size() > 1) {
      layers_ = std::make_unique<volume::LayeredStore>(direct_, prefixes_);
      store = layers_.get();
    }
    pages_ = std::make_unique<volume::StorePages>(*store, prefixes_.front(), memory_,
                                                  async::StopToken());
  }

  volume::PageSource& source() { return *pages_; }

  // Where an object lies; its place in the volume itself where it is nowhere.
  std::string place_of(const std::string& below) const {
    for (const std::string& prefix : prefixes_) {
      if (bucket_.find(prefix + below) != nullptr) return prefix + below;
    }
    return prefixes_.front() + below;
  }

 private:
  const Bucket& bucket_;
  const std::vector<std::string> prefixes_;
  DirectStore direct_;
  std::unique_ptr<volume::LayeredStore> layers_;
  volume::ReaderMemory memory_;
  std::unique_ptr<volume::StorePages> pages_;
};

std::string volume_of(const std::string& key) { return key.substr(0, key.find('/')); }

Reach::Reach(const Bucket& bucket)
    : bucket_(bucket),
      agenda_(Time::from_millis(0)),
      loop_(std::make_unique<async::VirtualProcess>(agenda_, async::VirtualOptions())) {}
Reach::~Reach() = default;

Reach::Pages& Reach::pages(const std::string& volume, const std::vector<std::string>& bases) {
  std::vector<std::string> prefixes{volume + "/"};
  for (const std::string& base : bases) prefixes.push_back(base + "/");
  std::unique_ptr<Pages>& found = pages_[prefixes];
  if (!found) found = std::make_unique<Pages>(bucket_, prefixes);
  return *found;
}

Result<const Reach::Keys*> Reach::of(const std::string& manifest_key,
                                     const std::vector<std::string>& bases, bool with_chunks) {
  using volume::Marks;
  const auto place = std::pair(manifest_key, with_chunks);
  if (const auto found = known_.find(place); found != known_.end()) return &found->second;
  const Bucket::Stored* const stored = bucket_.find(manifest_key);
  if (stored == nullptr) return Error(Errc::kNotFound, "the manifest is not there");
  volume::Manifest manifest = TRY(volume::decode_manifest(*stored->bytes));
  Pages& from = pages(volume_of(manifest_key), bases);
  Marks marks;
  const auto chunks = with_chunks ? Marks::Chunks::kAll : Marks::Chunks::kNone;
  TRY(loop_.block_on(
      marks.add(from.source(), std::move(manifest), chunks, Marks::Missing::kError)));
  Keys keys{manifest_key};
  for (const std::string& key : marks.keys()) keys.insert(from.place_of(key));
  return &known_.emplace(place, std::move(keys)).first->second;
}

}  // namespace runnel::volume_sim
