#include "cli/program_start.h"

#include "base/shell_word.h"

namespace runnel::cli {

std::string program_start(const std::string& file, std::string_view text) {
  if (file.ends_with(".py")) return "python " + shell_word(file);
  if (file.ends_with(".sh")) return "sh " + shell_word(file);
  const std::string_view first = text.substr(0, text.find('\n'));
  // A job file may name us as what runs it.
  if (!first.starts_with("#!") || first.find("runnel") != std::string_view::npos) return "";
  return shell_word(file.find('/') == std::string::npos ? "./" + file : file);
}

}  // namespace runnel::cli
