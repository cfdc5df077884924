#include "sched/company.h"

#include <utility>

#include "base/check.h"

namespace runnel::sched {

std::int64_t shared_number(const std::set<std::int64_t>& numbers) {
  if (numbers.empty()) return 0;
  return numbers.size() == 1 ? *numbers.begin() : kNobody;
}

Company Company::over(const Company& base) {
  Company company;
  company.base_ = &base;
  return company;
}

void Company::hold(const NodeId& id, const std::string& runner, std::int64_t apart,
                   std::int64_t places) {
  forget(id);
  if (runner.empty()) return;
  busy_[id] = Busy{runner, apart, places};
  count(runner, apart, 1);
}

void Company::forget(const NodeId& id) {
  const std::optional<Busy> was = find(id);
  if (!was) return;
  count(was->runner, was->apart, -1);
  if (base_ == nullptr) {
    busy_.erase(id);
  } else {
    busy_[id] = std::nullopt;
  }
}

void Company::give_back(const NodeId& id) {
  std::optional<Busy> held = find(id);
  if (!held) return;
  if (--held->places <= 0) return forget(id);
  busy_[id] = std::move(held);
}

std::optional<std::int64_t> Company::number_of(const std::string& runner) const {
  const Numbers* numbers = numbers_of(runner);
  if (numbers == nullptr || numbers->empty()) return std::nullopt;
  return numbers->size() == 1 ? numbers->begin()->first : kNobody;
}

std::optional<Company::Busy> Company::find(const NodeId& id) const {
  if (const auto own = busy_.find(id); own != busy_.end()) return own->second;
  return base_ == nullptr ? std::nullopt : base_->find(id);
}

const Company::Numbers* Company::numbers_of(const std::string& runner) const {
  if (const auto own = runners_.find(runner); own != runners_.end()) return &own->second;
  return base_ == nullptr ? nullptr : base_->numbers_of(runner);
}

void Company::count(const std::string& runner, std::int64_t apart, std::int64_t by) {
  auto own = runners_.find(runner);
  if (own == runners_.end()) {
    const Numbers* before = numbers_of(runner);
    own = runners_.emplace(runner, before == nullptr ? Numbers() : *before).first;
  }
  const auto number = own->second.try_emplace(apart, 0).first;
  if (number->second == 0 || number->second + by == 0) ++changes_;
  number->second += by;
  CHECK(number->second >= 0, "a runner has fewer busy hosts than none");
  if (number->second == 0) own->second.erase(number);
  if (own->second.empty() && base_ == nullptr) runners_.erase(own);
}

}  // namespace runnel::sched
