#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "env/in_place_file.h"
#include "store/event_log.h"
#include "store/sqlite/detail/tables.h"

namespace runnel::store::sqlite {

// The newest batch that was durable, kept beside the database in <path>-head: a log that is gone,
// or that ends before it, has lost what was acknowledged, whatever SQLite says.
//
// Contract: never ahead of what the disk has of the log, so it accuses no sound one. Not synced
//           with each batch: the death of the process costs at most the last one, that of the
//           machine what the kernel had not written back.
class HeadFile {
 public:
  // Takes up the file of a log that was verified up to `head`, and makes it say so.
  static Result<HeadFile> open(const std::string& path, const Head& head);

  // A failure leaves an older batch there, which is no untruth.
  void note(const Head& head);
  void sync();

 private:
  explicit HeadFile(env::InPlaceFile file) : file_(std::move(file)) {}

  env::InPlaceFile file_;
};

std::string head_path(const std::string& path);

// What is noted for the log at `path`: nothing when there is no file, or none that can be read.
std::optional<Head> noted_head(const std::string& path);

// kCorrupt unless the log, which was verified up to `head`, holds the batch that was noted.
Result<void> check_reaches(Tables& tables, const Head& base, const Head& head, const Head& noted);

}  // namespace runnel::store::sqlite
