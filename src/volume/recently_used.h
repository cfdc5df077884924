#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <utility>

#include "volume/memory_budget.h"

namespace runnel::volume {

// Values under keys, of which the last used stay: as many as a budget has room for, of its own or
// shared with others.
//
// Threads:  none of its own.
// Lifetime: a budget that is shared outlives it.
// Limits:   the budget's; one value alone may be larger.
template <typename Key, typename Value>
class RecentlyUsed final : MemoryBudget::Owner {
 public:
  explicit RecentlyUsed(std::size_t size_max)
      : own_(std::make_unique<MemoryBudget>(size_max)), budget_(*own_) {}
  explicit RecentlyUsed(MemoryBudget& shared) : budget_(shared) {}
  ~RecentlyUsed() override {
    for (const auto& [key, entry] : entries_) budget_.drop(entry.kept);
  }

  // Null when there is none. It counts as used, and stays where it is until something is kept in
  // the budget, or dropped of it.
  Value* find(const Key& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    budget_.use(found->second.kept);
    return &found->second.value;
  }
  // The greatest key up to this one of which `is_it(key, value)` is true, among the last `looks`;
  // null when there is none. It does not count as used.
  template <typename Predicate>
  const Key* last_until(const Key& key, int looks, Predicate is_it) const {
    for (auto at = entries_.upper_bound(key); looks > 0 && at != entries_.begin(); --looks) {
      --at;
      if (is_it(at->first, at->second.value)) return &at->first;
    }
    return nullptr;
  }
  // Without counting as used.
  const Value* peek(const Key& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second.value;
  }
  void keep(const Key& key, Value value, std::size_t size) {
    drop(key);
    const auto at = entries_.emplace(key, Entry{std::move(value), {}, size}).first;
    size_ += size;
    at->second.kept = budget_.keep(*this, &*at, size);
  }
  void drop(const Key& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    budget_.drop(found->second.kept);
    erase(found);
  }
  // Of what is kept here.
  std::size_t size() const { return size_; }

 private:
  struct Entry {
    Value value;
    MemoryBudget::Handle kept;
    std::size_t size = 0;
  };
  using Entries = std::map<Key, Entry>;

  void forget(const void* what) override {
    erase(entries_.find(static_cast<const typename Entries::value_type*>(what)->first));
  }
  void erase(typename Entries::iterator entry) {
    size_ -= entry->second.size;
    entries_.erase(entry);
  }

  std::unique_ptr<MemoryBudget> own_;  // None: it is shared.
  MemoryBudget& budget_;
  std::size_t size_ = 0;
  Entries entries_;
};

}  // namespace runnel::volume
