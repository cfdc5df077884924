// Arbitrary bytes as a tar, and as a dump, that is put into a volume. No path that comes out leads
// out of the volume, and nothing that comes out is larger than a batch may be.
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "async/event_loop.h"
#include "async/unique_fd.h"
#include "async/worker.h"
#include "base/check.h"
#include "volume/edit.h"
#include "volume/tar_source.h"

namespace {

using namespace runnel;
using namespace runnel::volume;

constexpr int kBatchesMax = 8;  // Of a tar that unpacks to more than the fuzzer has time for.

// Where puts read.
struct Reading {
  std::unique_ptr<async::EventLoop> loop = MUST(async::EventLoop::create());
  std::unique_ptr<async::Worker> worker = MUST(async::Worker::create(*loop, {}));
};

void check_path(const std::vector<std::string>& path) {
  CHECK(!path.empty(), "an entry has no path");
  for (const std::string& part : path) {
    CHECK(!part.empty() && part != "." && part != "..", "a path leads elsewhere");
    CHECK(part.size() <= 255, "a name is longer than one may be");
    CHECK(part.find('/') == std::string::npos, "a name has parts");
  }
}

void check_batch(const ReadBatch& batch) {
  CHECK(batch.entries.size() <= SourceTree::kBatchEntries, "a batch has too many entries");
  for (const ReadEntry& entry : batch.entries) {
    check_path(entry.path);
    for (const ReadChunk& chunk : entry.chunks) {
      CHECK(chunk.length <= batch.bytes.size(), "a chunk is longer than its batch");
      CHECK(chunk.begin <= batch.bytes.size() - chunk.length, "a chunk lies outside its batch");
    }
  }
}

void read_all(Reading& reading, PutSource& source) {
  for (int i = 0; i < kBatchesMax; ++i) {
    const Result<ReadBatch> batch = reading.loop->block_on(source.next(*reading.worker));
    if (!batch.ok()) break;
    check_batch(*batch);
    if (batch->is_last) break;
  }
  MUST(reading.loop->block_on(source.close()));
}

async::UniqueFd file_of(const std::uint8_t* data, std::size_t size) {
  async::UniqueFd file(::memfd_create("tar", MFD_CLOEXEC));
  CHECK(::write(file.get(), data, size) == static_cast<ssize_t>(size), "memory takes a file");
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Reading* const reading = new Reading;
  const async::UniqueFd file = file_of(data, size);
  const std::string path = "/proc/self/fd/" + std::to_string(file.get());
  Result<std::unique_ptr<TarReader>> reader = TarReader::open(path);
  if (!reader.ok()) return 0;
  TarSource tar(*std::move(reader));
  read_all(*reading, tar);
  DumpSource dump(MUST(TarReader::open(path)));
  if (dump.read_header().ok()) read_all(*reading, dump);
  return 0;
}
