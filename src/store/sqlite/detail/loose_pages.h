#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "store/sqlite/detail/tables.h"

namespace runnel::store::sqlite {

// A database or write-ahead log larger than this is not searched for loose pages.
inline constexpr Bytes kLoosePagesMax = Bytes::gibi(2);

// The rows that stand on the pages of a damaged database and of its write-ahead log, found without
// the trees that lead to them (https://sqlite.org/fileformat2.html, sections 1.6, 2 and 4): also
// where a page, the header or the database itself is gone, and behind the place where bytes were
// put in or taken out, which moved every page after it.
//
// Contract: a batch is a claim that its chain has to prove, and there may be several for a number.
//           Snapshots, records and the row of facts are given when their checksum holds. What was
//           deleted from a table may be among them.
// Why ours: SQLite's own recovery reads no page that was moved, and knows of no chain to tell what
//           is true from what is left over.
class LoosePages {
 public:
  // Reads what there is of both files; no file is no page.
  static Result<LoosePages> read(const std::string& path);

  std::vector<Batch> batches(BatchSeq seq) const;
  BatchSeq last() const;  // The greatest number that a batch claims; 0 when there is none.
  std::vector<StoredSnapshot> snapshots() const;
  std::vector<StoredEntry> entries() const;  // Per key the newest.
  std::optional<Meta> meta() const;          // The newest.

 private:
  // Where a page of a number is looked for: those behind the damage are shifted.
  enum class View : std::uint8_t { kInPlace, kShifted, kLogged };
  struct Cell {
    std::size_t page = 0;  // Both are places in `bytes_`.
    std::size_t at = 0;
  };

  LoosePages(std::string database, const std::string& wal);
  void find_pages(std::size_t first);
  void find_frames();
  void find_cells(std::size_t page);
  // The content of the page of a number; "" when it is nowhere.
  std::string_view content(std::uint32_t number, View view) const;
  std::optional<std::string> payload(const Cell& cell, View view) const;
  // Calls `visit` with the payload of a cell, once for each view.
  template <typename Visit>
  void each_payload(const Cell& cell, Visit visit) const;

  std::string bytes_;  // The database, and behind it the log.
  std::size_t log_at_;
  std::int64_t shift_;                           // Bytes that the pages behind the damage moved.
  std::map<std::uint32_t, std::size_t> frames_;  // The last page of each number in the log.
  std::multimap<std::int64_t, Cell> batches_;
  std::vector<Cell> others_;
};

}  // namespace runnel::store::sqlite
