#include "control/log_lines.h"

#include "json/writer.h"

namespace runnel::control {
namespace {

std::string_view without_end(std::string_view line) {
  if (line.ends_with('\n')) line.remove_suffix(1);
  return line;
}

// Each byte as the character of its number, which any JSON text can hold.
std::string as_latin1(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      text += c;
    } else {
      text += static_cast<char>(0xC0 | (byte >> 6));
      text += static_cast<char>(0x80 | (byte & 0x3F));
    }
  }
  return text;
}

void write_line(std::string& text, const model::LogPiece& piece, std::string_view step,
                std::string_view line, bool last) {
  json::Writer out(text);
  out.begin_object();
  const std::string_view shown = folded(without_end(line));
  out.field("attempt", piece.attempt.attempt.value());
  const bool exact = line.ends_with('\n') && shown.size() + 1 == line.size() && json::is_utf8(line);
  if (!exact) out.field("bytes", as_latin1(line));
  // An empty cursor is the beginning: who comes back without one reads from there.
  if (last && !piece.cursor.empty()) out.field("cursor", piece.cursor);
  out.field("job", piece.attempt.task.job.str());
  out.field("level", "info");  // What a program writes to stderr is rarely an error.
  out.field("msg", shown);
  out.field("rank", piece.rank);
  out.field("step", step);
  out.field("stream", piece.stream == model::LogStream::kErr ? "stderr" : "stdout");
  out.field("task", piece.attempt.task.index.value());
  out.field("ts", rfc3339(piece.arrived_at));
  out.end_object();
  text += '\n';
}

}  // namespace

std::string_view folded(std::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  const std::size_t over = line.rfind('\r');
  return over == std::string_view::npos ? line : line.substr(over + 1);
}

std::string damage_line(const JobId& job, std::string_view sentence) {
  std::string text;
  json::Writer out(text);
  out.begin_object();
  out.field("damage", sentence);
  out.field("job", job.str());
  out.end_object();
  return text + '\n';
}

void LogLines::append(std::string& text, std::size_t bytes) {
  const std::size_t left = rest_.size() > bytes ? rest_.size() - bytes : 0;
  while (rest_.size() > left) {
    const std::size_t end = rest_.find('\n');
    const std::string_view line = rest_.substr(0, end == std::string_view::npos ? end : end + 1);
    rest_.remove_prefix(line.size());
    write_line(text, piece_, step_name_, line, rest_.empty());
  }
}

}  // namespace runnel::control
