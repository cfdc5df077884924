#include "volume/read_ahead.h"

#include <algorithm>

namespace runnel::volume {

ReadAhead::Advice ReadAhead::after_read(Inode file, std::uint64_t offset, std::uint64_t length) {
  const std::uint64_t end = offset + length;
  Reader* const reader = files_.find(file);
  if (reader == nullptr) return begin(file, offset, end, false);
  const bool goes_on = offset <= reader->next + kSkipMax && reader->next <= offset + kSkipMax;
  if (!goes_on) return begin(file, offset, end, reader->window > 0);
  const bool was_told = reader->window > 0 && end <= reader->ahead;
  Advice advice = go_on(*reader, end);
  advice.was_told = was_told;
  return advice;
}

ReadAhead::Advice ReadAhead::go_on(Reader& reader, std::uint64_t end) const {
  if (end <= reader.next) return {};
  reader.read += end - reader.next;
  reader.next = end;
  if (reader.most < window_max_ && reader.read >= reader.most * kWindowsUntilMore) {
    reader.most = std::min(reader.most * kGrowth, window_max_);
    reader.read = 0;
  }
  if (reader.window == 0) reader.ahead = end;
  // More only when a quarter of what was told is read, so that few and large parts are fetched.
  const bool has_enough = reader.window > 0 && end + reader.window * 3 / 4 < reader.ahead;
  if (has_enough) return {};
  reader.window = std::clamp(reader.window * kGrowth, kWindowMin, reader.most);
  return extend(reader);
}

ReadAhead::Advice ReadAhead::tell_again(Inode file, std::uint64_t end) {
  Reader* const reader = files_.find(file);
  if (reader == nullptr || reader->window == 0) return {};
  reader->most = std::max(reader->window / kGrowth, kWindowMin);
  reader->read = 0;
  reader->window = kWindowMin;
  reader->next = end;
  reader->ahead = end;
  return extend(*reader);
}

ReadAhead::Advice ReadAhead::begin(Inode file, std::uint64_t offset, std::uint64_t end,
                                   bool jumped) {
  Reader reader{end, offset == 0 ? kWindowMin : 0, end, window_max_, 0};
  Advice advice;
  if (reader.window > 0) advice = extend(reader);
  advice.jumped = jumped;
  advice.is_alone = reader.window == 0;
  files_.keep(file, reader, 1);
  return advice;
}

ReadAhead::Advice ReadAhead::extend(Reader& reader) {
  Advice advice{std::max(reader.ahead, reader.next), reader.next + reader.window};
  if (advice.end <= advice.begin) return {};
  reader.ahead = advice.end;
  return advice;
}

}  // namespace runnel::volume
