#include "store/sqlite/detail/replacement.h"

#include "env/files.h"

namespace runnel::store::sqlite {
namespace {

std::string aside_path(const std::string& path) { return path + "-wal.aside"; }

// The new database is built after nothing is aside, and renamed while something may be: where both
// are there, that has not happened yet.
Result<bool> is_interrupted(const std::string& path) {
  return TRY(env::is_there(aside_path(path))) && TRY(env::is_there(staged_path(path)));
}

// Synced, lest what a dead machine brings back is found beside the database that is built next.
Result<void> remove_aside(const std::string& path) {
  TRY(env::remove_file(aside_path(path)));
  return env::sync_directory(env::parent_of(path));
}

}  // namespace

std::string staged_path(const std::string& path) { return path + ".repaired"; }

// The shared memory is only an index of the write-ahead log, which SQLite makes anew.
Result<void> replace_database(const std::string& path) {
  const std::string wal = path + "-wal";
  TRY(env::remove_file(path + "-shm"));
  if (TRY(env::is_there(wal))) TRY(env::rename_file(wal, aside_path(path)));
  TRY(env::rename_file(staged_path(path), path));
  return remove_aside(path);
}

Result<void> check_replaced(const std::string& path) {
  if (!TRY(is_interrupted(path))) return {};
  return Error(Errc::kCorrupt, "a repair of the event log " + path +
                                   " was interrupted, and its write-ahead log is set aside")
      .with_hint("`runnel fsck --repair` begins anew, and nothing is lost");
}

// A write-ahead log that is there as well is the empty one that looking at the database makes:
// opening refuses it, so nobody has written.
Result<void> undo_interrupted_replacement(const std::string& path) {
  if (!TRY(env::is_there(aside_path(path)))) return {};
  if (!TRY(is_interrupted(path))) return remove_aside(path);
  TRY(env::remove_file(path + "-shm"));
  return env::rename_file(aside_path(path), path + "-wal");
}

}  // namespace runnel::store::sqlite
