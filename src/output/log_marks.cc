#include "output/log_marks.h"

#include "base/binary.h"
#include "base/check.h"

namespace runnel::output {
namespace {

constexpr std::size_t kMarkChecksumAt = 20;

void put(std::string& out, std::uint64_t bits, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) out.push_back(static_cast<char>(bits >> (8 * i)));
}

std::uint64_t take(std::string_view& in, std::size_t bytes) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    bits |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(in[i])) << (8 * i);
  }
  in.remove_prefix(bytes);
  return bits;
}

}  // namespace

void append_mark(std::string& out, const LogMark& mark) {
  const std::size_t start = out.size();
  put(out, static_cast<std::uint64_t>(mark.time.millis()), 8);
  put(out, static_cast<std::uint64_t>(mark.offset), 8);
  put(out, static_cast<std::uint64_t>(mark.stream), 4);
  put(out, checksum32(std::string_view(out).substr(start, kMarkChecksumAt)), 4);
  CHECK(out.size() == start + kMarkBytes, "a mark has one size");
}

std::vector<LogMark> parse_marks(std::string_view bytes) {
  std::vector<LogMark> marks;
  marks.reserve(bytes.size() / kMarkBytes);
  for (; bytes.size() >= kMarkBytes; bytes.remove_prefix(kMarkBytes)) {
    std::string_view in = bytes;
    const std::uint32_t sum = checksum32(in.substr(0, kMarkChecksumAt));
    LogMark mark;
    mark.time = Time::from_millis(static_cast<std::int64_t>(take(in, 8)));
    mark.offset = static_cast<std::int64_t>(take(in, 8));
    const std::uint64_t stream = take(in, 4);
    mark.stream = stream == 0 ? model::LogStream::kOut : model::LogStream::kErr;
    if (take(in, 4) == sum && stream <= 1) marks.push_back(mark);
  }
  return marks;
}

}  // namespace runnel::output
