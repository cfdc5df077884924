#include "store/sqlite/detail/held_room.h"

#include <algorithm>

#include "env/file_system.h"
#include "env/files.h"
#include "env/held_blocks.h"

namespace runnel::store::sqlite {
namespace {

constexpr Bytes kReserve = Bytes::mebi(4);
// SQLite begins its write-ahead log anew at 8 MiB, when it can.
constexpr Bytes kWriteAhead = Bytes::mebi(12);
// 32 KiB for each 4,096 pages of it: those above, and what becomes of the reserve.
constexpr Bytes kIndex = Bytes::kibi(64);
constexpr Bytes kLeast = Bytes::kibi(64);

}  // namespace

HeldRoom::HeldRoom(const std::string& path)
    : folder_(env::parent_of(path)),
      write_ahead_(path + "-wal"),
      index_(path + "-shm"),
      reserve_(path + "-reserve", kReserve) {}

void HeldRoom::hold() const {
  reserve_.hold();
  hold_file(write_ahead_, kWriteAhead);
  hold_file(index_, kIndex);
}

// Where the file system holds no blocks there is the reserve alone.
void HeldRoom::hold_file(const std::string& path, Bytes size) const {
  const Result<Bytes> held = env::allocated(path);
  if (!held.ok() || *held >= size) return;
  const Result<Bytes> free = env::free_space(folder_);
  const Bytes more = free.ok() ? Bytes::count(free->count() / 2) : Bytes();
  if (more >= env::kSpaceLeast) (void)env::hold_blocks(path, std::min(size, *held + more));
}

bool HeldRoom::give_up() const { return reserve_.give_up(); }

// What is held up to its end is used up by now. A little is left for the index.
void HeldRoom::hold_given_up() const {
  for (Bytes size = kReserve - kIndex; size >= kLeast; size = Bytes::count(size.count() / 2)) {
    if (env::hold_blocks_ahead(write_ahead_, size).ok()) return;
  }
}

bool HeldRoom::is_short() const {
  const Result<Bytes> free = env::free_space(folder_);
  return free.ok() && *free < env::kSpaceLeast;
}

}  // namespace runnel::store::sqlite
