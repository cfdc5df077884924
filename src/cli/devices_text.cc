#include "cli/devices_text.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/interval_set.h"
#include "cli/print.h"
#include "cli/printable.h"

namespace runnel::cli {
namespace {

std::string range_text(std::int64_t begin, std::int64_t end) {
  std::string text = std::to_string(begin);
  if (end - begin > 1) text += (end - begin == 2 ? "," : "-") + std::to_string(end - 1);
  return text;
}

std::string indices_text(const json::Value& indices) {
  IntervalSet set;
  for (const json::Value& index : indices.as_list()) {
    set.insert(index.as_int(), index.as_int() + 1);
  }
  std::string text;
  for (const auto& [begin, end] : set.ranges()) {
    text += (text.empty() ? "" : ",") + range_text(begin, end);
  }
  return text;
}

}  // namespace

std::string devices_text(const json::Value& devices) {
  std::string text;
  for (const auto& [kind, indices] : devices.as_object()) {
    text += (text.empty() ? "" : " ") + printable(kind) + ":" + indices_text(indices);
  }
  return text;
}

std::string placed_devices_text(const json::Value& row) {
  const json::Value* devices = row.find("devices");
  if (devices == nullptr) return "-";
  std::string text;
  const bool named = devices->as_object().size() > 1;
  for (const auto& [node, here] : devices->as_object()) {
    text += (text.empty() ? "" : "; ") + (named ? printable(node) + " " : "") + devices_text(here);
  }
  return or_dash(text);
}

bool any_has_devices(const json::Value::List& rows) {
  return std::any_of(rows.begin(), rows.end(),
                     [](const json::Value& row) { return row.find("devices") != nullptr; });
}

}  // namespace runnel::cli
