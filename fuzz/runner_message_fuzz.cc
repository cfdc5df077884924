// Arbitrary bytes as what agent and runner say to each other, as the runner's journal, and as the
// files of a job's output. The first byte chooses. Whatever is read must be written to bytes that
// are read back as the same; all else must be an error, never a crash.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "output/log_cursor.h"
#include "output/log_index.h"
#include "output/log_marks.h"
#include "runner/journal.h"
#include "runner/message.h"

namespace {

using namespace runnel;
using namespace runnel::output;
using namespace runnel::runner;

void check_body(std::string_view body) {
  const Result<Message> message = decode_body(body);
  if (!message.ok()) {
    CHECK(message.error().code == Errc::kCorrupt, "a message fails with another code");
    return;
  }
  std::string frame;
  encode_frame(*message, frame);
  const std::size_t size = MUST(frame_size(frame));
  CHECK(size == frame.size(), "a frame has another length than it says");
  const Message again = MUST(decode_body(std::string_view(frame).substr(kFrameHeaderBytes)));
  CHECK(again == *message, "a message does not read back");
}

// Frames one after another, as they come from a socket.
void check_stream(std::string_view bytes) {
  while (!bytes.empty()) {
    const Result<std::size_t> size = frame_size(bytes);
    if (!size.ok() || *size == 0) return;
    CHECK(*size <= bytes.size(), "a frame is longer than what has arrived");
    check_body(bytes.substr(kFrameHeaderBytes, *size - kFrameHeaderBytes));
    bytes.remove_prefix(*size);
  }
}

void check_journal(std::string_view bytes) {
  const Result<JournalContent> content = parse_journal(bytes);
  if (!content.ok()) {
    CHECK(content.error().code == Errc::kCorrupt, "a journal fails with another code");
    return;
  }
  for (const auto& [key, rank] : content->ranks) {
    CHECK(key.second == rank.fact.report.rank, "a rank stands under another number");
  }
}

// A journal of whole records around the fuzzer's bytes, so that checksums do not hide what follows.
void check_journal_records(std::string_view bytes) {
  const auto append_fixed = [](std::string& out, std::uint32_t value) {
    for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<char>(value >> shift));
  };
  std::string journal = "RNLJ1\n";
  const auto append = [&](std::string_view body) {
    append_fixed(journal, static_cast<std::uint32_t>(body.size()));
    append_fixed(journal, checksum32(body));
    journal.append(body);
  };
  std::string header;
  Encoder(header).byte(0).text("boot").text("incarnation");
  append(header);
  while (!bytes.empty()) {
    const std::size_t size =
        std::min<std::size_t>(static_cast<std::uint8_t>(bytes.front()), bytes.size());
    append(bytes.substr(0, size));
    bytes.remove_prefix(std::max<std::size_t>(size, 1));
  }
  check_journal(journal);
}

void check_output_files(std::string_view bytes) {
  for (const LogMark& mark : parse_marks(bytes)) {
    std::string text;
    append_mark(text, mark);
    CHECK(parse_marks(text).front() == mark, "a mark does not read back");
  }
  const std::optional<IndexRecord> record = parse_record(bytes);
  if (record) {
    std::string text;
    append_record(text, *record);
    CHECK(parse_record(text) == record, "an index record does not read back");
  }
  const Result<LogCursor> cursor = parse_log_cursor(std::string(bytes));
  if (cursor.ok()) {
    CHECK(MUST(parse_log_cursor(to_string(*cursor))) == *cursor, "a cursor does not read back");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  switch (data[0] % 5) {
    case 0: check_body(bytes); break;
    case 1: check_stream(bytes); break;
    case 2: check_journal(bytes); break;
    case 3: check_journal_records(bytes); break;
    default: check_output_files(bytes); break;
  }
  return 0;
}
