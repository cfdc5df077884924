#include "control/log_lines.h"

#include "json/writer.h"

namespace runnel::control {
namespace {

void write_line(std::string& text, const model::LogPiece& piece, std::string_view step,
                std::string_view line, bool last) {
  json::Writer out(text);
  out.begin_object();
  out.field("attempt", piece.attempt.attempt.value());
  // An empty cursor is the beginning: who comes back without one reads from there.
  if (last && !piece.cursor.empty()) out.field("cursor", piece.cursor);
  out.field("job", piece.attempt.task.job.str());
  out.field("level", "info");  // What a program writes to stderr is rarely an error.
  out.field("msg", folded(line));
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

std::string json_lines(const model::LogPiece& piece, std::string_view step_name) {
  std::string text;
  std::string_view rest = piece.bytes;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    write_line(text, piece, step_name, line, rest.empty());
  }
  return text;
}

}  // namespace runnel::control
