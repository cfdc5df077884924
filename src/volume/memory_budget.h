#pragma once

#include <cstddef>
#include <cstdint>
#include <list>

namespace runnel::volume {

// What several owners keep together up to a limit: whoever keeps more than that makes go what was
// used longest ago, whosever it is.
//
// Threads:  none of its own.
// Lifetime: owners drop what they keep before it ends.
// Limits:   the sizes of all together, in what unit the owners like; one alone may be larger.
class MemoryBudget {
 public:
  // Who keeps something.
  class Owner {
   public:
    Owner() = default;
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    virtual ~Owner() = default;
    // It is kept no longer. Nothing of the budget may be called meanwhile.
    virtual void forget(const void* what) = 0;
  };

 private:
  struct Kept {
    Owner* owner = nullptr;
    const void* what = nullptr;
    std::size_t size = 0;
    std::int64_t used = 0;  // At which look.
  };

 public:
  using Handle = std::list<Kept>::iterator;

  explicit MemoryBudget(std::size_t size_max) : size_max_(size_max) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  Handle keep(Owner& owner, const void* what, std::size_t size);
  void use(Handle kept);
  void drop(Handle kept);  // The owner is not told.
  // To be called at regular times: what was used at none of the last `looks` goes.
  void drop_unused(int looks);

  std::size_t size() const { return size_; }
  std::size_t size_max() const { return size_max_; }

 private:
  void drop_last();

  const std::size_t size_max_;
  std::size_t size_ = 0;
  std::int64_t looks_ = 0;
  std::list<Kept> kept_;  // The last used first.
};

}  // namespace runnel::volume
