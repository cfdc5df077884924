#include "home/named_file.h"

#include "base/check.h"
#include "base/shell_word.h"
#include "env/files.h"

namespace runnel::home {

Result<std::string> read_named_file(const std::string& flag, const std::string& path, Bytes limit) {
  CHECK(!path.empty(), "no file was named");
  Result<std::string> text = env::read_file(path, limit);
  if (text.ok()) return text;
  return Error(Errc::kInvalid, text.error().message)
      .with_field(flag)
      .with_value(path)
      .with_hint("name a file that you can read: ls -ld " + shell_word(path));
}

}  // namespace runnel::home
