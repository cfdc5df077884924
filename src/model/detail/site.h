#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "model/check_spec.h"

namespace runnel::model::detail {

// A field of a specification where a check stands: what it finds, it leaves here.
//
// Contract: beyond kFaultsMax nothing is kept. The checks of single values tell whether the value
//           passed, so that what rests on it can be left unsaid.
// Lifetime: borrows the list of faults and the names of fields: those of the specification, and
//           literals.
// Why:      decoding checks every specification, so that a path becomes text only for a fault.
class Site {
 public:
  Site(std::vector<Error>& faults, Rules rules) : faults_(&faults), rules_(rules) {}

  // The site inside: a field, an element of a list.
  Site at(std::string_view field) const;
  Site at(std::size_t index) const;

  bool submitted() const { return rules_ == Rules::kSubmitted; }
  bool full() const { return faults_->size() >= kFaultsMax; }

  void refuse(Error fault) const;
  void refuse(std::string message, const std::string& value, std::string hint) const;
  void refuse(std::string message, std::int64_t value, std::string hint) const;

  bool within(std::int64_t value, std::int64_t min, std::int64_t max) const;
  bool within(Duration value, Duration min, Duration max) const;
  bool sized(std::size_t size, std::size_t max, std::string_view what) const;
  // Text that reaches the operating system, which ends it at a NUL.
  bool text(const std::string& text, std::size_t bytes_max) const;
  // The same, and not empty.
  bool named(const std::string& name) const;

 private:
  // A field, or the position of an element where there is no name.
  struct Segment {
    std::string_view name;
    std::size_t index = 0;
  };
  static constexpr std::size_t kDepthMax = 8;

  Site inside(Segment segment) const;
  std::string path() const;

  std::vector<Error>* faults_;
  Rules rules_;
  std::array<Segment, kDepthMax> segments_ = {};
  std::size_t depth_ = 0;
};

// Says which keys were seen before.
template <typename Key>
class Seen {
 public:
  bool again(const Key& key) { return !seen_.insert(key).second; }

 private:
  std::set<Key> seen_;
};

}  // namespace runnel::model::detail
