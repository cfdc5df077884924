#include "output/log_index.h"

#include <gtest/gtest.h>

#include "output/log_cursor.h"
#include "output/log_marks.h"
#include "output/paths.h"

namespace runnel::output {
namespace {

IndexRecord full_record() {
  IndexRecord record;
  record.kind = IndexRecord::Kind::kGap;
  record.slot = 4'000'000'000U;
  record.rank = 7;
  record.step = 999;
  record.task = 99'999'999;
  record.attempt = 3;
  record.time = 1'700'000'000'123;
  for (std::size_t i = 0; i < 2; ++i) {
    record.offset[i] = (std::int64_t{1} << 40) + static_cast<std::int64_t>(i);
    record.gap_begin[i] = 17;
    record.gap_end[i] = std::int64_t{1} << 39;
  }
  record.max_log = Bytes::gibi(1).count();
  return record;
}

TEST(LogIndex, ARecordIsReadAsItWasWritten) {
  std::string bytes = "x";
  append_record(bytes, full_record());
  append_record(bytes, IndexRecord());
  ASSERT_EQ(bytes.size(), 1 + 2 * kIndexRecordBytes);
  EXPECT_EQ(parse_record(std::string_view(bytes).substr(1)), full_record());
  EXPECT_EQ(parse_record(std::string_view(bytes).substr(1 + kIndexRecordBytes)), IndexRecord());
}

TEST(LogIndex, DamageIsSeen) {
  std::string bytes;
  append_record(bytes, full_record());
  EXPECT_FALSE(parse_record(bytes.substr(0, bytes.size() - 1)).has_value());
  for (char& c : bytes) {
    c = static_cast<char>(c ^ 1);
    EXPECT_FALSE(parse_record(bytes).has_value());
    c = static_cast<char>(c ^ 1);
  }
}

TEST(LogIndex, NamesFiles) {
  EXPECT_EQ(segment_path("/l", 3, 0, model::LogStream::kOut), "/l/3.0.out");
  EXPECT_EQ(segment_path("/l", 3, 12, model::LogStream::kErr), "/l/3.12.err");
  EXPECT_EQ(marks_path("/l", 3, 0), "/l/3.0.marks");
  EXPECT_EQ(logs_folder("/home", JobId("j")), "/home/jobs/j/logs");
}

TEST(LogMarks, AreReadAsTheyWereWritten) {
  const LogMark out{Time::from_millis(1'700'000'000'000), model::LogStream::kOut, 123};
  const LogMark err{Time::from_millis(1'700'000'000'005), model::LogStream::kErr,
                    std::int64_t{1} << 41};
  std::string bytes;
  append_mark(bytes, out);
  append_mark(bytes, err);
  ASSERT_EQ(bytes.size(), 2 * kMarkBytes);
  EXPECT_EQ(parse_marks(bytes), (std::vector<LogMark>{out, err}));
  EXPECT_EQ(parse_marks(bytes.substr(0, bytes.size() - 1)), (std::vector<LogMark>{out}));
  bytes[3] = static_cast<char>(bytes[3] ^ 1);
  EXPECT_EQ(parse_marks(bytes), (std::vector<LogMark>{err}));
}

TEST(LogCursorText, IsReadAsItWasWritten) {
  LogCursor cursor;
  EXPECT_EQ(MUST(parse_log_cursor("")), cursor);
  cursor.records = 120;
  cursor.open[117].read[0] = 4096;
  cursor.open[119].read[1] = 80;
  cursor.open[119].gap_record = 118;
  EXPECT_EQ(to_string(cursor), "120;117.4096.0;119.0.80.118");
  EXPECT_EQ(MUST(parse_log_cursor(to_string(cursor))), cursor);
}

TEST(LogCursorText, RefusesOtherTexts) {
  for (const char* text :
       {"x", "-1", "1;", "1;0", "1;0.1", "1;0.1.2.3.4", "1;1.0.0", "1;0.0.0;0.0.0", "1;0.-1.0",
        "1;0.0.0.1", "99999999999999999999", "1 ", "1;0.0.0 "}) {
    const Result<LogCursor> cursor = parse_log_cursor(text);
    EXPECT_FALSE(cursor.ok()) << text;
    if (!cursor.ok()) EXPECT_EQ(cursor.error().code, Errc::kInvalid);
  }
}

}  // namespace
}  // namespace runnel::output
