#include "output/log_marker.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "output/open_file.h"

namespace runnel::output {
namespace {

// The latest marks say how far each stream was seen; older ones are of no use for that.
constexpr std::int64_t kTailOfMarks = 64 * 1024;
constexpr Duration kSparse = Duration::seconds(1);

}  // namespace

LogMarker::Lane& LogMarker::lane_of(LaneKey key) {
  const auto found = lanes_.find(key);
  if (found != lanes_.end()) return found->second;
  if (lanes_.size() >= kOpenMax) lanes_.clear();  // The files tell what was seen.
  Lane& lane = lanes_[key];
  lane.marks = open_to_append(marks_path(logs_, key.first, key.second));
  if (lane.marks.valid()) read_seen(lane);
  return lane;
}

void LogMarker::read_seen(Lane& lane) {
  struct stat status{};
  if (::fstat(lane.marks.get(), &status) != 0) return;
  const auto whole = static_cast<std::int64_t>(kMarkBytes);
  lane.bytes = status.st_size / whole * whole;
  // A torn tail would shift all that follow.
  if (lane.bytes != status.st_size && ::ftruncate(lane.marks.get(), lane.bytes) != 0) return;
  const std::int64_t begin = std::max<std::int64_t>(0, lane.bytes - kTailOfMarks) / whole * whole;
  std::string text(static_cast<std::size_t>(lane.bytes - begin), '\0');
  if (::pread(lane.marks.get(), text.data(), text.size(), begin) !=
      static_cast<ssize_t>(text.size())) {
    return;
  }
  for (const LogMark& mark : parse_marks(text)) {
    lane.seen[static_cast<std::size_t>(mark.stream)] = mark.offset;
    lane.latest = mark.time;
  }
}

void LogMarker::note(Lane& lane, const LogMark& mark) {
  const bool sparse = lane.bytes >= kMarksDenseMax && mark.time - lane.latest < kSparse;
  if (sparse || lane.bytes >= kMarksBytesMax || !lane.marks.valid()) return;
  std::string text;
  append_mark(text, mark);
  if (::write(lane.marks.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return;
  }
  lane.bytes += static_cast<std::int64_t>(text.size());
  lane.latest = mark.time;
}

bool LogMarker::look(std::string_view name, Time now) {
  const std::optional<OutputName> output = parse_output_name(name);
  struct stat status{};
  if (!output || ::stat((logs_ + "/" + std::string(name)).c_str(), &status) != 0) return false;
  const LaneKey key{output->slot, output->rank};
  Lane& lane = lane_of(key);
  std::int64_t& seen = lane.seen[static_cast<std::size_t>(output->stream)];
  // Shorter than before: its attempt has emptied it and begins anew.
  if (status.st_size == seen) return false;
  seen = status.st_size;
  note(lane, {now, output->stream, status.st_size});
  return true;
}

bool LogMarker::look_all(Time now) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(logs_.c_str()), ::closedir);
  std::vector<std::string> names;
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
    names.emplace_back(entry->d_name);
  }
  bool any = false;
  for (const std::string& name : names) any = look(name, now) || any;
  return any;
}

}  // namespace runnel::output
