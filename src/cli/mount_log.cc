#include "cli/mount_log.h"

#include <algorithm>

#include "env/files.h"

namespace runnel::cli {
namespace {

constexpr std::string_view kProgram = "runnel: ";
constexpr std::size_t kTimeBytes = std::string_view("2026-11-26T09:17:25.123Z ").size();

std::string_view sentence_of(std::string_view line) {
  const std::size_t at = line.substr(0, kTimeBytes + kProgram.size()).find(kProgram);
  if (at != std::string_view::npos) line.remove_prefix(at + kProgram.size());
  return line;
}

std::string read_log(const home::Home& home) {
  return env::read_file(home.mounts_log()).value_or("");
}

}  // namespace

bool says_to_mount_log(const home::Home& home) {
  const Result<env::FileId> log = env::file_id(home.mounts_log());
  const Result<env::FileId> error = env::file_id("/proc/self/fd/2");
  return log.ok() && error.ok() && *log == *error;
}

std::size_t mount_log_size(const home::Home& home) {
  const Result<env::FileInfo> log = env::file_info(home.mounts_log());
  return log.ok() ? static_cast<std::size_t>(log->size.count()) : 0;
}

std::string words_since(const home::Home& home, std::size_t size) {
  const std::string log = read_log(home);
  return words_of(std::string_view(log).substr(std::min(size, log.size())));
}

std::string words_of(std::string_view lines) {
  std::string words;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view sentence = sentence_of(lines.substr(0, end));
    lines.remove_prefix(std::min(end + 1, lines.size()));
    if (sentence.empty()) continue;
    words.append(words.empty() ? "" : "; ").append(sentence);
  }
  return words;
}

}  // namespace runnel::cli
