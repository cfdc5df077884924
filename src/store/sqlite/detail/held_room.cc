#include "store/sqlite/detail/held_room.h"

#include <algorithm>

#include "base/check.h"
#include "env/file_system.h"
#include "env/files.h"
#include "env/held_blocks.h"

namespace runnel::store::sqlite {
namespace {

constexpr Bytes kReserve = Bytes::mebi(4);
// SQLite begins its write-ahead log anew at 8 MiB, when it can.
constexpr Bytes kWriteAhead = Bytes::mebi(12);
constexpr Bytes kWriteAheadLeast = Bytes::mebi(2);
constexpr Bytes kShort = Bytes::mebi(1);

}  // namespace

HeldRoom::HeldRoom(const std::string& path)
    : folder_(env::parent_of(path)),
      write_ahead_(path + "-wal"),
      reserve_(path + "-reserve", kReserve) {}

void HeldRoom::hold() const {
  reserve_.hold();
  const Result<Bytes> held = env::allocated(write_ahead_);
  if (!held.ok() || *held >= kWriteAhead) return;
  const Result<Bytes> free = env::free_space(folder_);
  const Bytes more = free.ok() ? Bytes::count(free->count() / 2) : Bytes();
  if (more >= kShort) hold_log(std::min(kWriteAhead, *held + more));
}

bool HeldRoom::give_up() const {
  if (!reserve_.give_up()) return false;
  hold_log(kWriteAheadLeast);
  return true;
}

bool HeldRoom::is_short() const {
  const Result<Bytes> free = env::free_space(folder_);
  return free.ok() && *free < kShort;
}

// Where the file system holds no blocks there is the reserve alone.
void HeldRoom::hold_log(Bytes size) const {
  CHECK(size <= kWriteAhead, "more of the write-ahead log is held than SQLite writes over");
  (void)env::hold_blocks(write_ahead_, size);
}

}  // namespace runnel::store::sqlite
