#pragma once

#include <string>

#include "base/result.h"

namespace runnel::store::sqlite {

// How the database that a repair has built takes the place of the damaged one.
//
// Contract: killed at any moment it leaves either the files that were there, after
//           undo_interrupted_replacement(), or the new database. The old write-ahead log must not
//           stand beside the new database, which it would be taken for a part of, nor be gone while
//           the old one is still there: it is set aside, under a fixed name, between the two.
// Threads:  none of its own; nobody has the log open.

// Where the new database is built.
std::string staged_path(const std::string& path);

Result<void> replace_database(const std::string& path);

// kCorrupt when a replacement was interrupted so that the write-ahead log is set aside.
Result<void> check_replaced(const std::string& path);

// The first step of a repair: puts back what was set aside, or removes it when the new database is
// in place.
Result<void> undo_interrupted_replacement(const std::string& path);

}  // namespace runnel::store::sqlite
