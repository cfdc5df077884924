#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include "base/check.h"
#include "cli/cache_folder.h"
#include "cli/interrupt.h"
#include "cli/mount_log.h"
#include "cli/mount_look.h"
#include "cli/mount_of_attempts.h"
#include "cli/print.h"
#include "cli/printable.h"
#include "cli/volume_client.h"
#include "cli/volume_commands.h"
#include "cli/volume_target.h"
#include "env/clock.h"
#include "env/files.h"
#include "env/folder_users.h"
#include "env/process.h"
#include "env/random.h"
#include "fuse/holder.h"
#include "fuse/mount_point.h"
#include "fuse/publish_call.h"
#include "fuse/serve_branch.h"
#include "home/paths.h"
#include "home/pause.h"
#include "home/server_of_volumes.h"
#include "home/volume_places.h"
#include "volume/branch_session.h"
#include "volume_server/request_of_process.h"

namespace runnel::cli {
namespace {

using volume::Volume;
using volume_server::MountRequest;

constexpr Duration kMountLookEvery = Duration::millis(5);
constexpr std::size_t kUsersShown = 10;

// Names of files and keys of objects, which are anybody's, make no second line.
void say_line(const std::string& sentence) { say("runnel: " + printable(sentence)); }

// What is to be mounted, and where.
struct Plan {
  std::string name;
  std::string version;
  std::string store;
  std::string folder;
  std::optional<volume::DiskCache::Options> cache;
  std::optional<volume::SeenHead> head;  // Of the volume, as it was just read.
  bool is_written = false;
  std::string branch;     // Of the volume, that is written; empty: itself.
  std::int64_t term = 0;  // As BranchWriting has them.
  bool from_base = false;
  std::string while_used;  // The place of a mount that attempts share; empty: somebody unmounts it.

  // Of what is written to the newest version is another one each time.
  std::string target() const { return is_written ? name : name + "@" + version; }
  std::string source() const { return "runnel:" + target() + (branch.empty() ? "" : "#" + branch); }
};

// The path without links, also of a dead mount, which itself cannot be looked at: each link is
// read beside its folder's real path. One that leads in a circle stays as it is after kLinksMax.
Result<std::string> without_links(std::string path) {
  constexpr int kLinksMax = 40;
  for (int links = 0; links < kLinksMax; ++links) {
    const std::size_t name = path.rfind('/') + 1;
    const Result<std::string> parent = env::real_path(env::parent_of(path));
    if (!parent.ok() || name == path.size()) return path;
    path = (*parent == "/" ? "" : *parent) + "/" + path.substr(name);
    std::array<char, PATH_MAX> bytes{};
    const ssize_t size = ::readlink(path.c_str(), bytes.data(), bytes.size());
    if (size <= 0) return path;  // No link, or nothing that can be looked at.
    const std::string target(bytes.data(), static_cast<std::size_t>(size));
    path = TRY(home::absolute_path(target.front() == '/' ? target : *parent + "/" + target));
  }
  return path;
}

// An existing folder, by its path without links; what a dead mount has left in it is removed.
Result<std::string> folder_to_mount_in(const std::string& given) {
  const std::string path = TRY(without_links(TRY(home::absolute_path(given))));
  const auto refused = [&given](const std::string& why, const std::string& hint) {
    return Error(Errc::kInvalid, "'" + given + "' " + why)
        .with_field("dir")
        .with_value(given)
        .with_hint(hint);
  };
  const MountLook there = fuse::mount_in(path) ? TRY(look_at_mount(path)) : MountLook::kServed;
  if (there == MountLook::kSilent) {
    return refused("is a mount that does not answer", "runnel volume umount --lazy " + given);
  }
  if (there == MountLook::kDead) {
    say("runnel: " + path + " was a mount that nobody serves any more; it is mounted anew");
    TRY(fuse::unmount_folder(path, fuse::Unmount::kLazy));
  }
  struct stat seen{};
  if (::stat(path.c_str(), &seen) != 0) {
    return refused("is not there", "make the folder first: mkdir -p " + given);
  }
  if (!S_ISDIR(seen.st_mode)) return refused("is no folder", "name a folder to mount in");
  const std::string real = TRY(env::real_path(path));
  if (const auto mounted = fuse::mount_in(real)) {
    return Error(Errc::kConflict, mounted->source + " is mounted in '" + given + "' already")
        .with_field("dir")
        .with_value(given)
        .with_hint("runnel volume umount " + given);
  }
  if (const auto names = TRY(env::list_directory(real)); !names.empty()) {
    return refused("is not empty: a mount would hide '" + names.front() + "'",
                   "mount it in an empty folder");
  }
  return real;
}

// The words that ask for the plan's store and cache.
std::vector<std::string> options_of(const Plan& plan) {
  std::vector<std::string> words{"--store", plan.store};
  if (plan.cache) {
    words.insert(words.end(), {"--cache", plan.cache->folder, "--cache-size",
                               std::to_string(plan.cache->bytes.count()) + "B"});
  }
  return words;
}

std::vector<std::string> with(std::vector<std::string> words, std::vector<std::string> more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// The head goes to the process that holds the mount, so that it is read once: its ETag, a line
// break and its text, as a variable.
constexpr std::string_view kHeadVariable = "RUNNEL_MOUNT_HEAD";

std::string variable_of(const volume::SeenHead& head) {
  CHECK(head.etag.find('\n') == std::string::npos, "an ETag of two lines");
  return std::string(kHeadVariable) + "=" + head.etag + "\n" + head.text;
}

std::optional<volume::SeenHead> handed_head() {
  const std::optional<std::string> value = env::variable(std::string(kHeadVariable));
  env::forget_variables(kHeadVariable);
  const std::size_t end = value ? value->find('\n') : std::string::npos;
  if (end == std::string::npos) return std::nullopt;
  return volume::SeenHead{value->substr(end + 1), value->substr(0, end)};
}

Result<void> check_newest(const VolumeTarget& target) {
  if (target.version.empty()) return {};
  return Error(Errc::kInvalid, "a mount that is written to goes on from the newest version")
      .with_field("--mode")
      .with_value("rw")
      .with_hint("leave out @" + target.version + ", or make a volume of it: runnel volume clone");
}

// The one after the last that has written the branch, or that one, where its log is here.
Result<std::int64_t> next_term(VolumeClient& client, Volume& volume, const std::string& branch,
                               const home::Home& home) {
  std::int64_t last = 0;
  for (const volume::SeenBranch& seen : TRY(client.run(volume::see_branches(volume)))) {
    if (seen.name() == branch) last = std::max(last, seen.record().term);
  }
  const std::string log =
      home.writing() + "/" + volume.head().uuid + "/" + fuse::log_of_branch(branch, last);
  return env::exists(log) ? last : last + 1;
}

Result<Plan> plan_of(const Arguments& arguments, const home::Home& home) {
  const VolumeTarget target = TRY(parse_volume_target(arguments.volume));
  if (!target.path.empty()) {
    return Error(Errc::kInvalid, "a mount has a whole version, and takes no path")
        .with_value(arguments.volume)
        .with_hint("leave out :/" + target.path);
  }
  Plan plan;
  plan.name = target.name;
  plan.store = TRY(home::place_of_volume(home, target.name, arguments.store)).to_string();
  plan.cache = TRY(cache_of(arguments));
  plan.folder = TRY(folder_to_mount_in(arguments.target));
  plan.while_used = arguments.while_used;
  plan.branch = arguments.branch;
  plan.term = arguments.term;
  plan.from_base = arguments.from_base;
  if (!plan.branch.empty()) TRY(volume::check_branch_name(plan.branch));
  plan.is_written = arguments.mount_mode == "rw" || !plan.branch.empty();
  if (plan.is_written) TRY(check_newest(target));
  plan.version = target.version;
  if (arguments.looked_up) {
    plan.head = handed_head();
    return plan;
  }
  const VolumeClientPtr client = TRY(client_of(arguments, home, target.name));
  Volume opened = TRY(client->volume(target.name));
  const bool is_empty = plan.is_written && opened.head().newest() == nullptr;
  if (!is_empty) plan.version = TRY(opened.place_of(target.version_or_latest())).version;
  plan.head = opened.seen_head();
  if (!plan.branch.empty() && plan.term == 0) {
    plan.term = TRY(next_term(*client, opened, plan.branch, home));
  }
  return plan;
}

std::string mounted_text(const Plan& plan) {
  const std::string how = plan.branch.empty() ? ", read-write" : ", to write branch " + plan.branch;
  return "mounted " + plan.target() + " in " + plan.folder + (plan.is_written ? how : "");
}

void tell_mounted(const Arguments& arguments, const Plan& plan) {
  json::Value value = json::Value::object();
  value.set("volume", json::Value::text(plan.name));
  value.set("version", plan.version.empty() ? json::Value() : json::Value::text(plan.version));
  value.set("dir", json::Value::text(plan.folder));
  if (!plan.branch.empty()) value.set("branch", json::Value::text(plan.branch));
  answer(arguments, value, mounted_text(plan) + "\n");
}

// By which the requests of this mount are known, also to its next server.
std::int64_t connection_number() {
  constexpr std::uint64_t kExact = (std::uint64_t{1} << 53) - 1;  // As JSON has numbers.
  return static_cast<std::int64_t>(env::real_random().next() & kExact) | 1;
}

MountRequest request_of(const Plan& plan, const home::Home& home) {
  MountRequest request =
      volume_server::request_of_process(plan.name, plan.version, plan.store, plan.cache);
  request.folder = plan.folder;
  request.head = plan.head;
  if (!plan.is_written) return request;
  request.version = "latest";
  request.format = plan.branch.empty() ? MountRequest::kWritingFormat : MountRequest::kBranchFormat;
  request.log = home.writing();
  request.branch = plan.branch;
  request.term = plan.term;
  request.from_base = plan.from_base;
  if (plan.from_base) request.format = MountRequest::kFromBaseFormat;
  request.connection = connection_number();
  return request;
}

Result<int> hold(const Arguments& arguments, const home::Home& home, const Plan& plan) {
  TRY(env::make_directories(home.root, env::Access::kOwner));
  fuse::Holder::Options options;
  options.source = plan.source();
  options.request = request_of(plan, home);
  env::forget_variables(
      volume_server::kStoreVariables);  // It may hold for days, beside the tasks of this user.
  options.socket = home.mounts_socket();
  options.server = home::server_of_volumes(home, TRY(env::executable_path()));
  bool has_served = false;
  options.mounted = [&arguments, &home, &plan, &has_served] {
    has_served = true;
    says_to_mount_log(home) ? say("runnel: " + mounted_text(plan)) : tell_mounted(arguments, plan);
  };
  options.say = say_line;
  std::optional<MountOfAttempts> of_attempts;
  if (!plan.while_used.empty()) {
    of_attempts.emplace(home, plan.while_used);
    options.look = [&of_attempts] { of_attempts->look(); };
    options.reader_failed = [&of_attempts](const auto& news) { of_attempts->note(news); };
  }
  const Result<void> held = fuse::Holder(std::move(options)).run();
  const bool is_published = plan.is_written && held.ok() && has_served;
  using Ends = MountOfAttempts::Ends;
  if (of_attempts) of_attempts->end(is_published ? Ends::kPublished : Ends::kAsItIs);
  TRY(Result<void>(held));
  return 0;
}

// Of a mount that is not served yet the answer waits; one that goes meanwhile leaves the folder
// below it to answer.
Result<bool> is_served(const std::string& folder) {
  const std::optional<fuse::Mounted> mounted = fuse::mount_in(folder);
  if (!mounted || TRY(look_at_mount(folder)) != MountLook::kServed) return false;
  const std::optional<fuse::Mounted> still = fuse::mount_in(folder);
  return still && still->id == mounted->id;
}

// `words`: of who was to hold it; they may name the log already.
Error not_mounted(const home::Home& home, const Plan& plan, std::string words) {
  const std::string log = home.mounts_log();
  const bool has_named_log = words.find(log) != std::string::npos;
  if (words.empty()) words = "the process that was to hold the mount has ended without a word";
  Error error(Errc::kIo, "not mounted: " + std::move(words));
  error.with_value(plan.folder);
  return has_named_log ? error : error.with_hint("see " + log);
}

// Ctrl-C while a mount is waited for: it is not left to be served later. Ends this process.
[[noreturn]] void take_back(std::int64_t holder, const std::string& folder) {
  (void)::kill(static_cast<pid_t>(holder), SIGKILL);
  while (env::process_runs(holder)) home::pause(kMountLookEvery);
  if (fuse::mount_in(folder)) (void)fuse::unmount_folder(folder, fuse::Unmount::kLazy);
  say("runnel: interrupted; nothing is mounted in " + folder);
  (void)std::signal(SIGINT, SIG_DFL);
  (void)std::raise(SIGINT);
  std::_Exit(1);
}

// Starts who holds the mount, and waits until the kernel has an answer from it.
Result<int> hold_detached(const Arguments& arguments, const home::Home& home, const Plan& plan) {
  TRY(env::make_directories(home.root, env::Access::kOwner));
  const std::size_t said_before = mount_log_size(home);
  env::DetachedProcess holder;
  holder.argv = with({TRY(env::executable_path()), "--home", home.root, "volume", "mount",
                      "--looked-up", plan.target(), plan.folder},
                     options_of(plan));
  if (plan.is_written) holder.argv = with(std::move(holder.argv), {"--mode", "rw"});
  if (!plan.branch.empty()) {
    holder.argv = with(std::move(holder.argv),
                       {"--branch", plan.branch, "--term", std::to_string(plan.term)});
    if (plan.from_base) holder.argv.emplace_back("--from-base");
  }
  if (!plan.while_used.empty()) {
    holder.argv = with(std::move(holder.argv), {"--while-used", plan.while_used});
  }
  holder.environment = env::environment();
  if (plan.head) holder.environment.push_back(variable_of(*plan.head));
  holder.log_file = home.mounts_log();
  watch_interrupts();
  const std::int64_t pid = TRY(env::spawn_detached(holder));
  while (!TRY(is_served(plan.folder))) {
    if (interrupts() > 0) take_back(pid, plan.folder);
    if (!env::process_runs(pid)) {
      return not_mounted(home, plan, words_since(home, said_before));
    }
    home::pause(kMountLookEvery);
  }
  tell_mounted(arguments, plan);
  return 0;
}

Error in_use(const std::string& folder, const Error& error) {
  std::string text = folder + " is in use";
  const std::vector<env::FolderUser> users = env::folder_users(folder);
  for (std::size_t index = 0; index < std::min(users.size(), kUsersShown); ++index) {
    const env::FolderUser& user = users[index];
    text += (index == 0 ? ": by " : ", ") + user.name + " (pid " + std::to_string(user.pid) + ", " +
            user.path + ")";
  }
  if (users.size() > kUsersShown) {
    text += " and " + std::to_string(users.size() - kUsersShown) + " more";
  }
  return Error(error.code, text)
      .with_value(folder)
      .with_hint("end these, or take it away from them: runnel volume umount --lazy " + folder);
}

// One that nobody serves any more, or that does not answer, has nothing to be asked for.
Result<void> publish_before(const std::string& folder) {
  const std::optional<fuse::Mounted> mounted = fuse::mount_in(folder);
  if (!mounted || !mounted->is_written) return {};
  if (TRY(look_at_mount(folder)) != MountLook::kServed) return {};
  const Result<std::string> published = fuse::publish_mount(folder);
  const bool has_lost = !published.ok() && published.error().code == Errc::kConflict;
  if (has_lost) say_line(published.error().message);
  if (published.ok() || published.error().code != Errc::kIo) return {};
  return Error(Errc::kIo, "what was written in " + folder +
                              " cannot be published: " + published.error().message)
      .with_value(folder)
      .with_hint(
          "the next mount of it will, where this one is taken away all the same: "
          "runnel volume umount --lazy " +
          folder);
}

Result<void> unmount(const std::string& given, fuse::Unmount how) {
  const std::string real = TRY(without_links(TRY(home::absolute_path(given))));
  if (!fuse::mount_in(real)) {
    return Error(Errc::kNotFound, "no volume is mounted in '" + given + "'")
        .with_field("dir")
        .with_value(given)
        .with_hint("see what is: findmnt -t fuse.runnel");
  }
  if (how == fuse::Unmount::kUnused) TRY(publish_before(real));
  Result<void> done = fuse::unmount_folder(real, how);
  const bool is_used = !done.ok() && done.error().code == Errc::kConflict;
  return is_used ? in_use(real, done.error()) : std::move(done);
}

}  // namespace

Result<int> mount_volume(const Arguments& arguments, const home::Home& home) {
  if (says_to_mount_log(home)) date_lines();
  const Plan plan = TRY(plan_of(arguments, home));
  return arguments.detach ? hold_detached(arguments, home, plan) : hold(arguments, home, plan);
}

// One that is in use keeps none of the others mounted.
Result<int> unmount_volume(const Arguments& arguments, const home::Home& /*home*/) {
  const auto how = arguments.lazy ? fuse::Unmount::kLazy : fuse::Unmount::kUnused;
  CHECK(!arguments.targets.empty(), "an unmount of nothing");
  std::vector<Error> errors;
  for (const std::string& given : arguments.targets) {
    const Result<void> done = unmount(given, how);
    if (!done.ok()) errors.push_back(done.error());
  }
  return errors.empty() ? 0 : fail(errors);
}

Result<int> publish_volume(const Arguments& arguments) {
  const std::string folder = TRY(without_links(TRY(home::absolute_path(arguments.target))));
  const std::string version = TRY(fuse::publish_mount(folder));
  json::Value value = json::Value::object();
  value.set("version", version.empty() ? json::Value() : json::Value::text(version));
  value.set("dir", json::Value::text(folder));
  answer(arguments, value, (version.empty() ? "nothing was written yet" : version) + "\n");
  return 0;
}

}  // namespace runnel::cli
