#pragma once

#include <cstddef>
#include <iterator>
#include <list>
#include <map>
#include <utility>

namespace runnel::volume {

// Values under keys, of which the last used stay.
//
// Threads: none of its own.
// Limits:  the sizes of all together, in what unit the user likes; one value alone may be larger.
template <typename Key, typename Value>
class RecentlyUsed {
 public:
  explicit RecentlyUsed(std::size_t size_max) : size_max_(size_max) {}
  RecentlyUsed(const RecentlyUsed&) = delete;
  RecentlyUsed& operator=(const RecentlyUsed&) = delete;

  // Null when there is none. It counts as used, and stays where it is until the next keep().
  Value* find(const Key& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->value;
  }
  // The greatest key up to this one of which `is_it(key, value)` is true, among the last `looks`;
  // null when there is none. It does not count as used.
  template <typename Predicate>
  const Key* last_until(const Key& key, int looks, Predicate is_it) const {
    for (auto at = by_key_.upper_bound(key); looks > 0 && at != by_key_.begin(); --looks) {
      --at;
      if (is_it(at->first, at->second->value)) return &at->first;
    }
    return nullptr;
  }
  // Without counting as used.
  const Value* peek(const Key& key) const {
    const auto found = by_key_.find(key);
    return found == by_key_.end() ? nullptr : &found->second->value;
  }
  void keep(const Key& key, Value value, std::size_t size) {
    if (const auto same = by_key_.find(key); same != by_key_.end()) drop(same->second);
    size_ += size;
    entries_.push_front({key, std::move(value), size});
    by_key_[key] = entries_.begin();
    while (size_ > size_max_ && entries_.size() > 1) drop(std::prev(entries_.end()));
  }
  void drop(const Key& key) {
    if (const auto found = by_key_.find(key); found != by_key_.end()) drop(found->second);
  }
  std::size_t size() const { return size_; }

 private:
  struct Entry {
    Key key;
    Value value;
    std::size_t size = 0;
  };
  using Entries = std::list<Entry>;

  void drop(typename Entries::iterator entry) {
    size_ -= entry->size;
    by_key_.erase(entry->key);
    entries_.erase(entry);
  }

  const std::size_t size_max_;
  std::size_t size_ = 0;
  Entries entries_;  // The last used first.
  std::map<Key, typename Entries::iterator> by_key_;
};

}  // namespace runnel::volume
