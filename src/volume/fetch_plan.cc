#include "volume/fetch_plan.h"

#include <algorithm>

namespace runnel::volume {

ObjectRange stored_range(const Extent& extent) {
  return {extent.pack, extent.offset, extent.stored, extent.linked};
}

std::vector<Fetch> plan_fetches(const std::vector<Extent>& extents, std::uint64_t bytes_max) {
  std::vector<std::size_t> order;
  order.reserve(extents.size());
  for (std::size_t index = 0; index < extents.size(); ++index) {
    if (!extents[index].is_hole()) order.push_back(index);
  }
  std::sort(order.begin(), order.end(), [&](std::size_t one, std::size_t other) {
    const Extent& a = extents[one];
    const Extent& b = extents[other];
    return a.pack != b.pack ? a.pack < b.pack : a.offset < b.offset;
  });
  std::vector<Fetch> fetches;
  for (const std::size_t index : order) {
    const Extent& extent = extents[index];
    const std::uint64_t end = extent.offset + extent.stored;
    if (!fetches.empty()) {
      ObjectRange& last = fetches.back().range;
      const bool is_near = last.object == extent.pack && extent.offset <= last.end() + kFetchGapMax;
      if (is_near && end - last.offset <= bytes_max) {
        last.length = std::max(last.end(), end) - last.offset;
        fetches.back().extents.push_back(index);
        continue;
      }
    }
    fetches.push_back({stored_range(extent), {index}});
  }
  return fetches;
}

}  // namespace runnel::volume
