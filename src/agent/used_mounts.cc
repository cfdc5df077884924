#include "agent/used_mounts.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/check.h"
#include "env/files.h"
#include "env/machine.h"
#include "env/remove_tree.h"
#include "hash/sha256.h"

namespace runnel::agent {
namespace {

// Who holds it unmounts, or makes and removes some files.
constexpr Duration kLockPatience = Duration::seconds(20);

constexpr std::size_t kStoreDigits = 8;
constexpr std::string_view kDigits = "0123456789abcdef";
constexpr const char* kStrays = "strays";
constexpr const char* kBranchLog = "branch-";
constexpr int kStraysMax = 1'000;
constexpr Bytes kNoteMax = Bytes::kibi(8);

std::string copy_mark(const std::string& place) { return place + "/copied"; }

std::string uses_of(const std::string& place) { return place + "/uses"; }

std::string damage_note(const std::string& place) { return place + "/damaged"; }
std::string unread_note(const std::string& place) { return place + "/unread"; }

std::string published_mark(const std::string& place) { return place + "/published"; }

std::string digits_of_store(const model::VolumeUse& use) {
  return hash::sha256_hex(use.store).substr(0, kStoreDigits);
}

// Of the logs that are below `<home>/writing`, by the uuids of their volumes.
Result<void> remove_logs(const std::string& home,
                         const std::function<bool(const std::string&)>& is_it) {
  const std::string all = home + "/writing";
  if (!TRY(env::is_there(all))) return {};
  for (const std::string& uuid : TRY(env::list_directory(all))) {
    const std::string volume = all + "/" + uuid;
    for (const std::string& name : TRY(env::list_directory(volume))) {
      if (is_it(name)) TRY(env::remove_tree(volume + "/" + name));
    }
  }
  return {};
}

// "NAME@VERSION-STORE", as place_of() has it, or "BRANCH.ATTEMPT@NAME-STORE".
bool is_name_of_place(const std::string& name) {
  const std::size_t store = name.rfind('-');
  return name.find('@') < store && name.size() - store == kStoreDigits + 1 &&
         name.find_first_not_of(kDigits, store + 1) == std::string::npos;
}

// Of one whose removal was killed last of all nothing but the folder is there.
bool is_place(const std::string& folder) {
  const Result<std::vector<std::string>> names = env::list_directory(folder);
  return env::exists(uses_of(folder)) || (names.ok() && names->empty());
}

// From here on nobody takes what is left of it for whole.
Result<void> unmark_copy(const std::string& place) {
  TRY(env::remove_file(copy_mark(place)));
  return env::sync_directory(place);
}

// Its uses last: by them the next look knows it again when this one is killed.
Result<void> remove_place(const std::string& place) {
  if (!env::exists(place)) return {};
  TRY(unmark_copy(place));
  std::vector<std::string> names = TRY(env::list_directory(place));
  std::erase(names, "uses");
  for (const std::string& name : names) TRY(env::remove_tree(place + "/" + name));
  return env::remove_tree(place);
}

std::string file_of(const std::string& place, const runner::AttemptOnNode& of) {
  const model::TaskRef& task = of.attempt.task;
  return uses_of(place) + "/" + task.job.str() + "." + std::to_string(task.step.value()) + "." +
         std::to_string(task.index.value()) + "." + std::to_string(of.attempt.attempt.value()) +
         "." + of.node.str();
}

}  // namespace

UsedMounts::UsedMounts(const std::string& home)
    : folder_(env::real_path(home).value_or(home) + "/mounts") {}

std::string UsedMounts::place_of(const model::VolumeUse& use) const {
  return folder_ + "/" + use.volume + "@" + use.version + "-" + digits_of_store(use);
}

std::string UsedMounts::place_of_branch(const model::VolumeUse& use, const std::string& branch,
                                        AttemptNumber attempt) const {
  return folder_ + "/" + branch + "." + std::to_string(attempt.value()) + "@" + use.volume + "-" +
         digits_of_store(use);
}

std::string UsedMounts::log_name(const std::string& branch, AttemptNumber attempt) {
  return std::string(kBranchLog) + branch + "." + std::to_string(attempt.value());
}

Result<void> UsedMounts::remove_log(const std::string& branch, AttemptNumber attempt) const {
  const std::string name = log_name(branch, attempt);
  return remove_logs(env::parent_of(folder_),
                     [&name](const std::string& each) { return each == name; });
}

Result<void> UsedMounts::remove_logs_of(const std::string& home, const JobId& job) {
  CHECK(!job.empty(), "the logs of no job are removed");
  const std::string begin = std::string(kBranchLog) + job.str() + ".";
  return remove_logs(home, [&begin](const std::string& each) { return each.starts_with(begin); });
}

Result<void> UsedMounts::mark_published(const std::string& place) {
  return env::append_file(published_mark(place), "");
}

Result<void> UsedMounts::unmark_published(const std::string& place) {
  return env::remove_file(published_mark(place));
}

bool UsedMounts::is_published(const std::string& place) {
  return env::exists(published_mark(place));
}

Result<std::vector<std::string>> UsedMounts::places() const {
  const Result<std::vector<std::string>> names = env::list_directory(folder_);
  if (!names.ok() && names.error().code == Errc::kNotFound) return std::vector<std::string>();
  std::vector<std::string> places;
  for (const std::string& name : TRY(Result<std::vector<std::string>>(names))) {
    const std::string place = folder_ + "/" + name;
    if (is_name_of_place(name) && is_place(place)) places.push_back(place);
  }
  return places;
}

bool UsedMounts::is_copy(const std::string& place) {
  const Result<std::string> made = env::read_file(copy_mark(place));
  const Result<std::string> now = env::boot_id();
  return made.ok() && now.ok() && *made == *now;
}

Result<void> UsedMounts::mark_copy(const std::string& place) {
  return env::write_file_atomically(copy_mark(place), TRY(env::boot_id()));
}

Result<void> UsedMounts::clear_tree(const std::string& place) const {
  const std::string tree = tree_of(place);
  if (env::exists(copy_mark(place))) {
    // Out of sight first: a part of it is neither a copy nor a task's.
    const std::string left = tree + ".left";
    TRY(env::remove_tree(left));
    if (env::exists(tree)) TRY(env::rename_file(tree, left));
    TRY(unmark_copy(place));
    TRY(env::remove_tree(left));
    return env::make_directories(tree);
  }
  const Result<std::vector<std::string>> names = env::list_directory(tree);
  if (!names.ok() || names->empty()) return {};
  const std::string strays = folder_ + "/" + kStrays;
  TRY(env::make_directories(strays, env::Access::kOwner));
  for (int number = 1; number <= kStraysMax; ++number) {
    const std::string aside =
        strays + place.substr(place.rfind('/')) + "-" + std::to_string(number);
    if (env::exists(aside)) continue;
    TRY(env::rename_file(tree, aside));
    return env::make_directories(tree);
  }
  return Error(Errc::kFull, strays + " is full").with_hint("remove what you do not need of it");
}

Result<void> UsedMounts::add(const std::string& place, const runner::AttemptOnNode& attempt) const {
  TRY(env::make_directories(folder_, env::Access::kOwner));
  const env::FileLock lock = TRY(env::FileLock::acquire_within(lock_file(), kLockPatience));
  TRY(env::make_directories(uses_of(place)));
  TRY(env::append_file(file_of(place, attempt), ""));
  return env::make_directories(tree_of(place));
}

Result<void> UsedMounts::remove(const std::string& place,
                                const runner::AttemptOnNode& attempt) const {
  if (!env::exists(uses_of(place))) return {};
  const env::FileLock lock = TRY(env::FileLock::acquire_within(lock_file(), kLockPatience));
  return env::remove_file(file_of(place, attempt));
}

Result<env::FileLock> UsedMounts::lock_showing(const std::string& place, Duration patience) {
  return env::FileLock::acquire_within(place + "/.lock", patience);
}

Result<env::FileLock> UsedMounts::lock_holding(const std::string& place) {
  return env::FileLock::acquire(place + "/.holder");
}

Result<void> UsedMounts::note(const std::string& place, ReadFailure kind, const std::string& why) {
  const std::string file = kind == ReadFailure::kDamaged ? damage_note(place) : unread_note(place);
  const std::string part = file + ".part";
  TRY(env::remove_file(part));
  TRY(env::append_file(part, why));
  if (std::rename(part.c_str(), file.c_str()) != 0) return errno_error("write " + file, errno);
  return {};
}

bool UsedMounts::is_damaged(const std::string& place) { return env::exists(damage_note(place)); }

std::optional<std::string> UsedMounts::noted(const std::string& place, Time begun) {
  for (const std::string& file : {damage_note(place), unread_note(place)}) {
    const Result<env::FileInfo> info = env::file_info(file);
    if (!info.ok() || info->modified + kSaidEvery < begun) continue;
    const Result<std::string> why = env::read_file(file, kNoteMax);
    if (why.ok() && !why->empty()) return *why;
  }
  return std::nullopt;
}

Result<void> UsedMounts::forget_notes(const std::string& place) {
  TRY(env::remove_file(damage_note(place)));
  return env::remove_file(unread_note(place));
}

Result<bool> UsedMounts::is_used(const std::string& place) {
  const Result<std::vector<std::string>> uses = env::list_directory(uses_of(place));
  if (!uses.ok() && uses.error().code == Errc::kNotFound) return false;
  return !TRY(Result<std::vector<std::string>>(uses)).empty();
}

Result<bool> UsedMounts::remove_unused(const std::string& place,
                                       const std::function<Result<void>()>& unmount) const {
  const env::FileLock lock = TRY(env::FileLock::acquire_within(lock_file(), kLockPatience));
  if (TRY(is_used(place))) return false;
  const Result<void> done = unmount();
  if (!done.ok() && done.error().code == Errc::kConflict) return false;
  TRY(Result<void>(done));
  TRY(remove_place(place));
  return true;
}

}  // namespace runnel::agent
