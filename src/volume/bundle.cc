#include "volume/bundle.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/check.h"
#include "hash/xxh3.h"
#include "volume/compression.h"
#include "volume/fixed.h"

namespace runnel::volume {
namespace {

constexpr std::string_view kBundleBegin = "RNLPAGE1";

}  // namespace

BundleWriter::BundleWriter(env::Random& random) : random_(random) { open(); }

void BundleWriter::open() {
  nonce_.clear();
  append_u64be(nonce_, random_.next());
  open_id_ = ObjectId();
  std::copy(nonce_.begin(), nonce_.end(), open_id_.bytes.begin() + nonce_.size());
  bytes_ = kBundleBegin;
}

void BundleWriter::close() {
  const ObjectId id = ObjectId::of(bytes_, nonce_);
  ids_[open_id_] = id;
  full_.push_back({id, std::move(bytes_)});
  open();
}

PageRef BundleWriter::add(std::string page) {
  PageRef ref;
  ref.bundle = open_id_;
  ref.offset = bytes_.size();
  ref.length = page.size();
  ref.sha256 = hash::sha256(page);
  ref.xxh3 = hash::xxh3(page);
  const std::optional<std::string> frame = compressed(page);
  const std::string& stored = frame ? *frame : page;
  ref.stored = stored.size();
  bytes_ += stored;
  if (bytes_.size() >= kBundleBytesMax) close();
  return ref;
}

std::string BundleWriter::reference(const PageRef& ref) {
  PageRef written = ref;
  if (const auto closed = ids_.find(ref.bundle); closed != ids_.end())
    written.bundle = closed->second;
  if (ref.bundle == open_id_) written.bundle = ObjectId();
  return encode_ref(written);
}

std::vector<NewObject> BundleWriter::take_full() { return std::exchange(full_, {}); }

std::vector<NewObject> BundleWriter::finish() {
  if (bytes_.size() > kBundleBegin.size()) close();
  return take_full();
}

Tree BundleWriter::resolved(Tree tree) const {
  if (!tree) return tree;
  const auto closed = ids_.find(tree->ref.bundle);
  if (closed != ids_.end()) tree->ref.bundle = closed->second;
  CHECK(tree->ref.bundle != open_id_, "a reference into a bundle that is not finished");
  return tree;
}

Result<Page> read_page(const PageRef& ref, std::string_view stored, PageCheck check) {
  const auto damaged = [&] {
    return Error(Errc::kCorrupt, "a page of " + bundle_key(ref.bundle) + " at byte " +
                                     std::to_string(ref.offset) + " is damaged")
        .with_value(bundle_key(ref.bundle));
  };
  if (stored.size() != ref.stored) return damaged();
  std::string page;
  if (ref.stored != ref.length) {
    page.resize(ref.length);
    if (!decompress(stored, page).ok()) return damaged();
    stored = page;
  }
  if (hash::xxh3(stored) != ref.xxh3) return damaged();
  if (check == PageCheck::kHash && hash::sha256(stored) != ref.sha256) return damaged();
  Result<Page> decoded = Page::decode(stored);
  if (!decoded.ok()) return damaged();
  return decoded;
}

}  // namespace runnel::volume
