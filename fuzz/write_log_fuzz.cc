// Arbitrary bytes as a segment of a branch's log, and as records that follow one another. What is
// read is written as the same; what an overlay takes makes one that a checkpoint makes again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "writing/change.h"
#include "writing/log_segment.h"
#include "writing/overlay.h"

namespace {

using namespace runnel;
using namespace runnel::writing;

void check_segment(std::string_view bytes) {
  const Result<SegmentHeader> header = decode_segment_header(bytes);
  if (header.ok()) {
    const Result<SegmentHeader> back = decode_segment_header(encode_segment_header(*header));
    CHECK(back.ok() && *back == *header, "a header changed by being written and read");
  }
  const SegmentFrames read = read_frames(header.ok() ? *header : SegmentHeader(), bytes);
  CHECK(read.end <= bytes.size(), "a segment ends behind its end");
}

void check_checkpoint(const Overlay& overlay) {
  Overlay again;
  Sequence sequence = 0;
  for (const Record& record : overlay.checkpoint()) {
    LoggedRecord logged{.record = record, .sequence = ++sequence};
    MUST(again.apply(logged));
  }
  CHECK(again.base() == overlay.base(), "a checkpoint has another base");
  CHECK(again.nodes().size() == overlay.nodes().size(), "a checkpoint has other nodes");
  for (const auto& [inode, node] : overlay.nodes()) {
    const OverlayNode* const made = again.find(inode);
    CHECK(made != nullptr && made->names.size() == node->names.size(), "a node has other names");
    CHECK(made->content.size() == node->content.size(), "a file has another size");
    CHECK(made->places == node->places && made->is_in_version() == node->is_in_version(),
          "a node is in other versions");
  }
}

// Each record has its length before it, in one byte.
void check_records(std::string_view bytes) {
  Overlay overlay;
  Sequence sequence = 0;
  while (!bytes.empty()) {
    const std::size_t size = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    const Result<Record> record = decode_record(bytes.substr(0, size));
    bytes.remove_prefix(std::min(size, bytes.size()));
    if (!record.ok()) continue;
    const Result<Record> back = decode_record(encode_record(*record));
    CHECK(back.ok() && *back == *record, "a record changed by being written and read");
    ++sequence;
    const DataPlace end{{DataFile::Kind::kSegment, 1}, sequence << 20};
    (void)overlay.apply({.record = *record, .sequence = sequence, .end = end});
  }
  if (!overlay.frozen()) check_checkpoint(overlay);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_segment(bytes);
  check_records(bytes);
  return 0;
}
