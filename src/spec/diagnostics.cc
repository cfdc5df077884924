#include "spec/diagnostics.h"

#include <algorithm>

#include "base/check.h"

namespace runnel::spec {

std::string Item::path_of(std::string_view name) const {
  return path.empty() ? std::string(name) : path + "." + std::string(name);
}

void Diagnostics::keep(const Item& item, std::size_t offset, Error error) {
  if (full()) return;
  if (!item.node->flag.empty()) {
    error.with_field(item.node->flag);
  } else {
    error.with_field(item.path).at(position_at(text_, offset, file_));
    refused_.insert(item.path);
  }
  faults_.emplace(offset, std::move(error));
}

void Diagnostics::report(const Item& item, Error error) {
  CHECK(item.node != nullptr, "an error stands at a value");
  keep(item, item.node->offset, std::move(error));
}

void Diagnostics::report_inside(const Item& item, std::string_view piece, Error error) {
  CHECK(item.node != nullptr, "an error stands at a value");
  const std::size_t found = text_.find(piece, std::min(item.node->offset, text_.size()));
  keep(item, found == std::string_view::npos ? item.node->offset : found, std::move(error));
}

bool Diagnostics::has_refused(std::string_view path) const {
  const auto holds = [](std::string_view outer, std::string_view inner) {
    return outer.empty() || outer == inner ||
           (inner.starts_with(outer) && inner[outer.size()] == '.');
  };
  return std::ranges::any_of(refused_, [&](const std::string& refused) {
    return holds(refused, path) || holds(path, refused);
  });
}

void Diagnostics::keep_placed(Error error) {
  CHECK(error.where.known(), "the error says where it stands");
  faults_.emplace(0, std::move(error));
}

std::vector<Error> Diagnostics::take() {
  std::vector<Error> errors;
  for (auto& [offset, error] : faults_) {
    const bool repeated = std::find(errors.begin(), errors.end(), error) != errors.end();
    if (!repeated) errors.push_back(std::move(error));
  }
  CHECK(errors.size() <= kErrorsMax, "no more is given than was kept");
  faults_.clear();
  return errors;
}

}  // namespace runnel::spec
