#include "volume/fetch_plan.h"

#include <algorithm>

namespace runnel::volume {

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
      Fetch& last = fetches.back();
      const std::uint64_t last_end = last.offset + last.length;
      const bool is_near = last.pack == extent.pack && extent.offset <= last_end + kFetchGapMax;
      if (is_near && end - last.offset <= bytes_max) {
        last.length = std::max(last_end, end) - last.offset;
        last.extents.push_back(index);
        continue;
      }
    }
    fetches.push_back({extent.pack, extent.offset, extent.stored, {index}});
  }
  return fetches;
}

}  // namespace runnel::volume
