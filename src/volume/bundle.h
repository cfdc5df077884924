#pragma once

#include <map>
#include <string>
#include <vector>

#include "env/random.h"
#include "volume/object_id.h"
#include "volume/tree.h"

namespace runnel::volume {

inline constexpr std::size_t kBundleBytesMax = 8 << 20;

// An object that is to be put.
struct NewObject {
  ObjectId id;
  std::string bytes;
};

// Collects new pages of the index into bundles.
//
// Contract: add() and reference() as a PageSink. A bundle gets its id when it is full, or by
//           finish(); resolved() gives the references of before their ids. After finish() the
//           writer is empty.
// Threads:  none of its own.
class BundleWriter final : public PageSink {
 public:
  explicit BundleWriter(env::Random& random);

  PageRef add(std::string page) override;
  std::string reference(const PageRef& ref) override;

  // Bundles that are full; each is given once.
  std::vector<NewObject> take_full();
  // The last one, if it has a page.
  std::vector<NewObject> finish();
  Tree resolved(Tree tree) const;

 private:
  void open();
  void close();

  env::Random& random_;
  ObjectId open_id_;  // What pages of the open bundle are found by until it has its own.
  std::string nonce_;
  std::string bytes_;
  std::map<ObjectId, ObjectId> ids_;  // Of closed bundles, by what they were before.
  std::vector<NewObject> full_;
};

// How sure a reader of pages wants to be: by their sums, or by their SHA-256, too.
enum class PageCheck : std::uint8_t { kSum, kHash };

// A page out of what is stored of it. kCorrupt when it is not what the reference says.
Result<Page> read_page(const PageRef& ref, std::string_view stored,
                       PageCheck check = PageCheck::kSum);

}  // namespace runnel::volume
