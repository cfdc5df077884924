#include "writing/testing/snapshot_base.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "volume/chunk_read.h"

namespace runnel::writing::testing {
namespace {

Async<std::string> read_base(volume::Volume& volume, std::shared_ptr<volume::Snapshot> snapshot,
                             Inode file, std::uint64_t offset, std::uint64_t length) {
  const volume::Node node = CO_TRY(co_await snapshot->node(file));
  if (offset >= node.size) co_return std::string();
  const auto extents = CO_TRY(co_await snapshot->extents(file, node));
  co_return co_await volume::read_bytes(volume.ranges(), extents, offset,
                                        std::min(length, node.size - offset), {});
}

}  // namespace

BranchBase base_of(volume::Volume& volume, const volume::Manifest& manifest) {
  BranchBase base;
  base.version = manifest.version;
  base.snapshot = std::make_shared<volume::Snapshot>(volume.pages(), manifest);
  base.read = [&volume, snapshot = base.snapshot](Inode file, std::uint64_t offset,
                                                  std::uint64_t length) {
    return read_base(volume, snapshot, file, offset, length);
  };
  return base;
}

}  // namespace runnel::writing::testing
