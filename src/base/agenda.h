#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/units.h"

namespace runnel {

// Things that will happen, in virtual time. Two at one moment happen in the order of their ties,
// and then in the order they were planned.
class Agenda {
 public:
  // Nobody depends on which moment it is.
  static constexpr Time kStart = Time::from_millis(1'700'000'000'000);

  explicit Agenda(Time start = kStart) : now_(start) {}

  Time now() const { return now_; }
  void at(Time when, std::function<void()> what, std::uint64_t tie = 0) {
    CHECK(when >= now_, "something is planned for the past");
    items_.push({when, tie, next_++, std::move(what)});
  }
  void after(Duration delay, std::function<void()> what) { at(now_ + delay, std::move(what)); }

  // Lets the next thing happen.
  void step() {
    CHECK(!items_.empty(), "nothing is planned any more");
    Item item = std::move(const_cast<Item&>(items_.top()));  // Popped in the next line.
    items_.pop();
    now_ = item.when;
    item.what();
  }

 private:
  struct Item {
    Time when;
    std::uint64_t tie = 0;
    std::uint64_t order = 0;
    std::function<void()> what;
    bool operator<(const Item& other) const {
      return std::tie(when, tie, order) > std::tie(other.when, other.tie, other.order);
    }
  };

  Time now_;
  std::uint64_t next_ = 0;
  std::priority_queue<Item> items_;
};

}  // namespace runnel
