#include "home/daemon_log_reader.h"

#include <algorithm>

namespace runnel::home {
namespace {

struct Contents {
  std::optional<env::FileId> id;  // None: there is no such file.
  std::string text;
};

// The contents of one file, though the name may be given to another meanwhile.
Result<Contents> contents_of(const std::string& path) {
  for (;;) {
    const Result<env::FileId> id = env::file_id(path);
    if (!id.ok() && id.error().code == Errc::kNotFound) return Contents();
    if (!id.ok()) return id.error();
    Result<std::string> text = env::read_file(path);
    const Result<env::FileId> still = env::file_id(path);
    if (!still.ok() || *still != *id) continue;
    return Contents{*id, TRY(std::move(text))};
  }
}

}  // namespace

void DaemonLogReader::take(std::string_view text, std::vector<json::Value>& lines) {
  text.remove_prefix(std::min(read_, text.size()));
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    Result<json::Value> line = json::parse(text.substr(0, end));
    if (line.ok() && line->is_object()) lines.push_back(*std::move(line));
    text.remove_prefix(end + 1);
    read_ += end + 1;
  }
}

// A new file's lines come after those that were added to the earlier one before it was renamed.
Result<std::vector<json::Value>> DaemonLogReader::next() {
  std::vector<json::Value> lines;
  const Contents newer = TRY(contents_of(file_));
  if (newer.id != id_) {
    const Contents older = TRY(contents_of(older_));
    if (older.id && (!id_ || older.id == id_)) take(older.text, lines);
    read_ = 0;
  }
  if (newer.id) take(newer.text, lines);
  id_ = newer.id;
  return lines;
}

LogLevel level_of(const json::Value& line) {
  const json::Value* level = line.find("level");
  if (level == nullptr || !level->is_text()) return LogLevel::kInfo;
  return parse_log_level(level->as_text()).value_or(LogLevel::kInfo);
}

}  // namespace runnel::home
