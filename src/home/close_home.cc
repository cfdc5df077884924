#include "home/close_home.h"

#include <array>
#include <cstdio>
#include <string>

#include "base/shell_word.h"
#include "env/files.h"
#include "env/process.h"

namespace runnel::home {
namespace {

constexpr unsigned kOfOthers = 077;
constexpr unsigned kSticky = 01000;

std::string octal(unsigned mode) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%04o", mode);
  return text.data();
}

Result<bool> holds_other_files(const Home& home) {
  for (const std::string& ours : {home.version(), home.event_log(), home.lock()}) {
    if (env::exists(ours)) return false;
  }
  if (env::exists(home.nodes_file())) return false;  // Written before the first command.
  if (env::exists(home.volumes_file())) return false;
  return !TRY(env::list_directory(home.root)).empty();
}

Error not_its_own(const Home& home, unsigned mode) {
  return Error(Errc::kPrecondition, "other users can read this folder (its mode is " + octal(mode) +
                                        "), and it is not a home's alone")
      .with_field("RUNNEL_HOME")
      .with_value(home.root)
      .with_hint("close it where it is yours alone: chmod 700 " + shell_word(home.root) +
                 "; or choose a folder of its own: export RUNNEL_HOME=" +
                 shell_word(home.root + "/runnel"));
}

Error another_users(const Home& home) {
  return Error(Errc::kDenied, "this folder is another user's, who could change what runs in it")
      .with_field("RUNNEL_HOME")
      .with_value(home.root)
      .with_hint("choose a folder of your own: export RUNNEL_HOME=DIR");
}

Result<std::string> close_folder(const Home& home) {
  const std::string root = TRY(env::real_path(home.root));
  const env::FileInfo info = TRY(env::file_info(root));
  if (!info.own && !env::is_root()) return another_users(home);
  if (!info.own || (info.mode & kOfOthers) == 0) return std::string();
  const bool shared = (info.mode & kSticky) != 0 || root == env::variable("HOME").value_or("");
  if (shared || TRY(holds_other_files(home))) return not_its_own(home, info.mode);
  TRY(env::set_mode(root, 0700));
  return "other users could read the home " + home.root + " (its mode was " + octal(info.mode) +
         "); it is closed to them now (0700)";
}

// Only what we own and what is no link, which might lead anywhere.
Result<void> close_entry(const std::string& path) {
  const Result<env::FileInfo> info = env::file_info(path);
  if (!info.ok() || !info->own || (info->mode & kOfOthers) == 0) return {};
  if (info->kind != env::FileKind::kFile && info->kind != env::FileKind::kDirectory) return {};
  return env::set_mode(path, info->mode & ~kOfOthers);
}

}  // namespace

Result<std::string> close_home(const Home& home) {
  std::string notice = TRY(close_folder(home));
  const std::string log = home.event_log();
  for (const std::string& path : {log, log + "-wal", log + "-shm", home.daemon_log(),
                                  home.root + "/jobs", home.root + "/trash"}) {
    TRY(close_entry(path));
  }
  return notice;
}

}  // namespace runnel::home
