#include "home/home.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/lost_and_found.h"
#include "agent/suspect_mounts.h"
#include "base/shell_word.h"
#include "control/job_id.h"
#include "env/clock.h"
#include "env/disk_probe.h"
#include "env/file_system.h"
#include "env/files.h"
#include "env/inode_reserve.h"
#include "env/process.h"
#include "home/close_home.h"
#include "home/paths.h"

namespace runnel::home {
namespace {

constexpr Duration kDiskPatience = Duration::seconds(4);
constexpr int kInodesNeeded = 16;

Result<void> refuse_silent(const std::string& path) {
  const Time since = env::real_clock().wall();
  Result<void> answered = env::probe_path(path, kDiskPatience);
  if (answered.ok() || answered.error().code != Errc::kTimeout) return answered;
  const std::vector<std::string> suspects =
      agent::suspect_mounts(path, agent::Reach::kFolder, agent::mounted_places());
  return agent::silence_of(path, suspects, since).with_value(path);
}

Result<void> refuse_network(const Home& home) {
  const env::FileSystem file_system = TRY(env::file_system_of(home.root));
  if (file_system.locality == env::Locality::kLocal) return {};
  const bool unknown = file_system.locality == env::Locality::kUnknown;
  return Error(Errc::kUnsupported, "a home cannot be on " + file_system.name +
                                       (unknown ? ", which may be a network file system" : "") +
                                       ": its locks and syncs cannot be trusted there")
      .with_field("RUNNEL_HOME")
      .with_value(home.root)
      .with_hint("choose a folder on a local disk: export RUNNEL_HOME=/var/tmp/$USER/runnel");
}

// A task speaks to the home that runs it: "unix:/home/me/.runnel/daemon.sock". Empty: no task.
std::string home_of_task() {
  constexpr std::string_view kUnix = "unix:";
  const std::string api = env::variable("RUNNEL_API").value_or("");
  if (!api.starts_with(kUnix)) return "";
  const std::string socket = api.substr(kUnix.size());
  const std::string root = env::parent_of(socket);
  return Home{root}.socket() == socket ? root : "";
}

Result<void> stamp_version(const Home& home) {
  if (env::exists(home.version())) return {};
  return env::write_file_atomically(home.version(), std::to_string(kHomeVersion) + "\n",
                                    env::Access::kOwner);
}

std::string words_of(env::FileKind kind) {
  switch (kind) {
    case env::FileKind::kFile: return "a file";
    case env::FileKind::kDirectory: return "a folder";
    case env::FileKind::kLink: return "a link";
    case env::FileKind::kOther: break;
  }
  return "a pipe or a device";
}

// Where a home that is not there yet would be made.
std::string nearest_folder(std::string path) {
  while (!env::exists(path) && path != "/") path = env::parent_of(path);
  return path;
}

}  // namespace

Result<void> check_version(const Home& home) {
  if (!env::exists(home.version())) return {};
  const std::string text = TRY(env::read_file(home.version()));
  int version = 0;
  std::from_chars(text.data(), text.data() + text.size(), version);
  if (version >= 1 && version <= kHomeVersion) return {};
  if (version < 1) {
    return Error(Errc::kCorrupt, "the file " + home.version() + " names no version of a home")
        .with_field("RUNNEL_HOME")
        .with_value(home.root)
        .with_hint("it is damaged; if no newer runnel wrote the home: echo " +
                   std::to_string(kHomeVersion) + " > " + home.version());
  }
  return Error(Errc::kUnsupported, "the home has version " + text.substr(0, text.find('\n')) +
                                       ", and this build reads up to " +
                                       std::to_string(kHomeVersion))
      .with_field("RUNNEL_HOME")
      .with_value(home.root)
      .with_hint("use the newer runnel that wrote it, or another home: export RUNNEL_HOME=DIR");
}

Result<Home> find_home(const std::string& flag) {
  std::string root = flag;
  if (root.empty()) root = env::variable("RUNNEL_HOME").value_or("");
  if (root.empty()) root = home_of_task();
  if (root.empty()) {
    const std::string user_home = env::variable("HOME").value_or("");
    if (user_home.empty()) {
      return Error(Errc::kInvalid,
                   "neither RUNNEL_HOME nor HOME is set, so there is no place for a home")
          .with_field("RUNNEL_HOME")
          .with_hint("export RUNNEL_HOME=DIR");
    }
    root = user_home + "/.runnel";
  }
  return Home{TRY(absolute_path(root))};
}

Result<void> refuse_silent_home(const Home& home) { return refuse_silent(home.root); }

Result<void> refuse_silent_folders(const Home& home) {
  for (const std::string& folder : {home.jobs(), home.secrets(), home.runner(), home.trash()}) {
    TRY(refuse_silent(folder));
  }
  return {};
}

Result<void> refuse_silent_disk(const Home& home) {
  Result<void> answered = env::probe_disk(nearest_folder(home.root), kDiskPatience);
  if (answered.ok() || answered.error().code != Errc::kTimeout) return answered;
  return Error(Errc::kUnavailable, "the disk of the home " + home.root + " has not answered for " +
                                       human(kDiskPatience))
      .with_value(home.root)
      .with_hint(
          "see whether it answers: dmesg; a file system that was frozen: fsfreeze --unfreeze; "
          "nothing is lost, and work goes on by itself when it does");
}

Result<void> refuse_misplaced(const Home& home) {
  const std::string log = home.event_log();
  for (const std::string& path :
       {log, log + "-wal", log + "-shm", log + "-head", home.lock(), home.version(), home.place(),
        home.identity(), home.jobs_mark(), runner::runner_pid_file(home.root),
        runner::runner_log_file(home.root), home.daemon_log(), home.log_lines(),
        home.older_log_lines()}) {
    const Result<env::FileInfo> info = env::file_info(path);
    if (!info.ok() || info->kind == env::FileKind::kFile) continue;
    return Error(Errc::kCorrupt,
                 path + " is " + words_of(info->kind) + ", and the home keeps a file there")
        .with_value(path)
        .with_hint(info->kind == env::FileKind::kLink
                       ? "put the file itself there: mv \"$(readlink -f " + shell_word(path) +
                             ")\" " + shell_word(path)
                       : "move it away, and put the file back if you have it: mv " +
                             shell_word(path) + " " + shell_word(path + ".away"));
  }
  return {};
}

Result<void> refuse_lost_log(const Home& home) {
  for (const char* suffix : {"", "-wal", "-head"}) {
    if (env::exists(home.event_log() + suffix)) return {};  // Opening it tells more.
  }
  if (!env::exists(home.jobs())) return {};
  const std::vector<std::string> names = TRY(env::list_directory(home.jobs()));
  const auto jobs = std::count_if(names.begin(), names.end(), [](const std::string& name) {
    return control::time_of(JobId::parse(name).value_or(JobId())) != Time();
  });
  if (jobs == 0) return {};
  return Error(Errc::kCorrupt, "the event log " + home.event_log() + " is gone, and " +
                                   home.jobs() + " holds the files of " + std::to_string(jobs) +
                                   (jobs == 1 ? " job" : " jobs"))
      .with_value(home.event_log())
      .with_hint(
          "put the log back if you have it (log, log-wal and log-head); or begin a new one "
          "with `runnel fsck --repair`: the next command then moves the files to " +
          agent::lost_and_found(home.root));
}

Result<void> refuse_unwritable(const Home& home) {
  const std::string folder = nearest_folder(home.root);
  const Result<void> writable = env::may_write_in(folder);
  if (writable.ok()) return {};
  const bool denied = writable.error().code == Errc::kDenied;
  return Error(writable.error().code,
               "the home " + home.root +
                   " cannot be used, even to read it: " + writable.error().message)
      .with_value(home.root)
      .with_hint((denied ? "run this as the owner of " + folder
                         : "mount it writable: mount -o remount,rw") +
                 "; or choose another home: export RUNNEL_HOME=DIR");
}

void keep_inodes(const Home& home) {
  const env::InodeReserve reserve(home.inode_reserve(), kInodesNeeded);
  const Result<std::optional<std::int64_t>> free = env::free_inodes(home.root);
  const bool short_of = free.ok() && free->value_or(kInodesNeeded) < kInodesNeeded;
  if (short_of) {
    reserve.give_up();
  } else {
    reserve.hold();
  }
}

Result<void> refuse_full_disk(const Home& home) {
  const Result<Bytes> space = env::free_space(home.root);
  const Result<std::optional<std::int64_t>> inodes = env::free_inodes(home.root);
  std::string lack;
  if (inodes.ok() && inodes->value_or(kInodesNeeded) < kInodesNeeded) {
    lack = std::to_string(**inodes) + " inodes are free (see df -i), and a job needs " +
           std::to_string(kInodesNeeded);
  }
  if (space.ok() && *space < env::kSpaceLeast) {
    lack = human(*space) + " are free, and the home daemon needs " + human(env::kSpaceLeast);
  }
  if (lack.empty()) return {};
  return Error(Errc::kFull, "the disk of the home is full: " + lack)
      .with_value(home.root)
      .with_hint("remove some files; nothing of the home is lost, and work goes on then");
}

Result<std::string> prepare_home(const Home& home) {
  TRY(refuse_network(home));
  TRY(env::make_directories(home.root, env::Access::kOwner));
  TRY(check_version(home));
  std::string notice = TRY(close_home(home));
  TRY(stamp_version(home));
  return notice;
}

}  // namespace runnel::home
