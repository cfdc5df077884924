#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/moment_text.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "env/files.h"
#include "home/daemon_log_reader.h"
#include "home/pause.h"

namespace runnel::cli {
namespace {

constexpr Duration kLookForLinesEvery = Duration::millis(200);

// "took_ms=1204": what a line has beside what every line has.
std::string fields_text(const json::Value& line) {
  std::string text;
  for (const auto& [name, value] : line.as_object()) {
    if (name == "time" || name == "level" || name == "part" || name == "message") continue;
    text += "  " + name + "=" + (value.is_text() ? value.as_text() : value.dump());
  }
  return text;
}

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(width, text.size()), ' ');
  return text;
}

std::string line_text(const json::Value& line) {
  constexpr std::size_t kLevelWidth = 7;
  constexpr std::size_t kPartWidth = 7;
  return moment_text(text_of(line, "time")) + "  " + padded(text_of(line, "level"), kLevelWidth) +
         "  " + padded(text_of(line, "part"), kPartWidth) + "  " + text_of(line, "message") +
         fields_text(line);
}

void print_lines(const std::vector<json::Value>& lines, Output output) {
  for (const json::Value& line : lines) {
    put(is_document(output) ? stream_item(line, output) : printable(line_text(line)) + "\n");
  }
}

// Those that were asked for, oldest first.
std::vector<json::Value> chosen(std::vector<json::Value> lines, home::LogLevel least) {
  std::erase_if(lines, [least](const json::Value& line) { return home::level_of(line) < least; });
  return lines;
}

}  // namespace

int home_logs(const Arguments& arguments, const home::Home& home) {
  if (!env::exists(home.root)) {
    return fail(Error(Errc::kNotFound, "there is no home " + home.root)
                    .with_field("RUNNEL_HOME")
                    .with_value(home.root)
                    .with_hint("the first job makes one: runnel run -- echo hello"));
  }
  const home::LogLevel least = home::parse_log_level(arguments.level).value_or(home::LogLevel());
  home::DaemonLogReader reader(home);
  bool first = true;
  for (;;) {
    auto read = reader.next();
    if (!read.ok()) return fail(read.error());
    std::vector<json::Value> lines = chosen(*std::move(read), least);
    if (first && arguments.tail && std::ssize(lines) > *arguments.tail) {
      lines.erase(lines.begin(), lines.end() - *arguments.tail);
    }
    print_lines(lines, arguments.output);
    first = false;
    if (!arguments.follow) return 0;
    home::pause(kLookForLinesEvery);
  }
}

}  // namespace runnel::cli
